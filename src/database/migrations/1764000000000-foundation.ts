import type { MigrationInterface, QueryRunner } from 'typeorm';
import { QUERY_FUNCTIONS } from '../../query/functions.js';

/** Keys, idempotency keys, calls, and the functions that compiled queries use. */
export class Foundation1764000000000 implements MigrationInterface {
  name = 'Foundation1764000000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of QUERY_FUNCTIONS) await runner.query(statement);
    await runner.query(`
      CREATE TABLE api_keys (
        id uuid NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY,
        user_name text NOT NULL,
        role text NOT NULL CONSTRAINT api_keys_role_check CHECK (role IN ('reader', 'writer', 'admin', 'trainer')),
        scopes text[] NOT NULL,
        secret_hash bytea NOT NULL,
        hint text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        revoked_at timestamptz
      )`);
    await runner.query(`CREATE UNIQUE INDEX api_keys_secret_hash_idx ON api_keys (secret_hash)`);
    await runner.query(`
      CREATE TABLE idempotency_keys (
        project_id text COLLATE "C" NOT NULL,
        api_key_id uuid NOT NULL,
        key text COLLATE "C" NOT NULL,
        body_hash bytea NOT NULL,
        response json,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, api_key_id, key)
      )`);
    await runner.query(
      `CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at)`,
    );
    await runner.query(`
      CREATE TABLE calls (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        started_at timestamptz,
        ended_at timestamptz,
        deleted_at timestamptz,
        run_step integer,
        run_step_end integer,
        is_opaque boolean NOT NULL DEFAULT false,
        has_descendant_error boolean NOT NULL DEFAULT false,
        op_name text COLLATE "C",
        display_name text COLLATE "C",
        trace_id text COLLATE "C",
        parent_id text COLLATE "C",
        thread_id text COLLATE "C",
        turn_id text COLLATE "C",
        user_id text COLLATE "C",
        run_id text COLLATE "C",
        exception text COLLATE "C",
        attributes json,
        inputs json,
        output json,
        summary json,
        otel_dump json,
        CONSTRAINT calls_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX calls_started_idx ON calls (project_id, started_at, id)`);
    await runner.query(`CREATE INDEX calls_trace_idx ON calls (project_id, trace_id)`);
    await runner.query(
      `CREATE INDEX calls_parent_idx ON calls (project_id, parent_id) WHERE parent_id IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE calls`);
    await runner.query(`DROP TABLE idempotency_keys`);
    await runner.query(`DROP TABLE api_keys`);
    await runner.query(`DROP FUNCTION skein_compare(text, text)`);
    await runner.query(`DROP FUNCTION skein_time(text)`);
    await runner.query(`DROP FUNCTION skein_time(numeric)`);
    await runner.query(`DROP FUNCTION skein_number(text)`);
    await runner.query(`DROP FUNCTION skein_safe_json(json)`);
  }
}
