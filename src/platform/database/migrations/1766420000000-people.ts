import type { MigrationInterface, QueryRunner } from 'typeorm';

/** People who sign in with a provider, their roles, their sessions and keys (docs/adr/0110-people.md). */
export class People1766420000000 implements MigrationInterface {
  name = 'People1766420000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE users (
        id uuid NOT NULL,
        issuer text COLLATE "C" NOT NULL,
        subject text COLLATE "C" NOT NULL,
        email text COLLATE "C",
        email_verified boolean NOT NULL,
        name text COLLATE "C",
        groups text[] COLLATE "C" NOT NULL,
        is_active boolean NOT NULL DEFAULT true,
        first_seen timestamptz NOT NULL DEFAULT now(),
        last_seen timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT users_pkey PRIMARY KEY (id)
      );
      CREATE UNIQUE INDEX users_account_idx ON users (issuer, subject);
      CREATE INDEX users_email_idx ON users (email) WHERE email_verified;

      CREATE TABLE memberships (
        id uuid NOT NULL,
        scope text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        issuer text COLLATE "C" NOT NULL,
        subject text COLLATE "C" NOT NULL,
        role text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT memberships_pkey PRIMARY KEY (id),
        CONSTRAINT memberships_kind_check CHECK (kind IN ('user', 'email', 'group')),
        CONSTRAINT memberships_role_check CHECK (role IN ('reader', 'writer', 'admin'))
      );
      CREATE UNIQUE INDEX memberships_subject_idx ON memberships (kind, issuer, subject, scope);
      CREATE INDEX memberships_scope_idx ON memberships (scope, id);

      ALTER TABLE api_keys ADD COLUMN user_id uuid, ADD COLUMN created_by text;
      CREATE INDEX api_keys_user_idx ON api_keys (user_id, id) WHERE user_id IS NOT NULL;

      ALTER TABLE console_sessions
        ALTER COLUMN api_key_id DROP NOT NULL,
        ADD COLUMN user_id uuid,
        ADD COLUMN issuer text COLLATE "C",
        ADD COLUMN sid text COLLATE "C",
        ADD COLUMN id_token text,
        ADD COLUMN refresh_token text,
        ADD COLUMN checked_at timestamptz,
        ADD CONSTRAINT console_sessions_holder_check CHECK (num_nonnulls(api_key_id, user_id) = 1);
      CREATE INDEX console_sessions_user_idx ON console_sessions (user_id) WHERE user_id IS NOT NULL;
      CREATE INDEX console_sessions_checked_idx ON console_sessions (checked_at) WHERE refresh_token IS NOT NULL;

      ALTER TABLE audit_events ADD COLUMN user_id uuid;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE audit_events DROP COLUMN user_id;
      DELETE FROM console_sessions WHERE api_key_id IS NULL;
      ALTER TABLE console_sessions
        DROP COLUMN user_id, DROP COLUMN issuer, DROP COLUMN sid, DROP COLUMN id_token,
        DROP COLUMN refresh_token, DROP COLUMN checked_at,
        ALTER COLUMN api_key_id SET NOT NULL;
      DELETE FROM api_keys WHERE user_id IS NOT NULL;
      ALTER TABLE api_keys DROP COLUMN user_id, DROP COLUMN created_by;
      DROP TABLE memberships;
      DROP TABLE users;
    `);
  }
}
