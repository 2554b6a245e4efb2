import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What is being erased, how long projects keep what, and the audit. */
export class Erasing1764800000000 implements MigrationInterface {
  name = 'Erasing1764800000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE erasings (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        kind text COLLATE "C" NOT NULL,
        request json,
        targets text[] COLLATE "C",
        cursor json,
        counts json NOT NULL DEFAULT '{}',
        key_id uuid NOT NULL,
        user_name text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        touched_at timestamptz NOT NULL DEFAULT now(),
        ended_at timestamptz,
        CONSTRAINT erasings_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(
      `CREATE INDEX erasings_open_idx ON erasings (touched_at) WHERE ended_at IS NULL`,
    );
    await runner.query(
      `CREATE INDEX erasings_ended_idx ON erasings (ended_at) WHERE ended_at IS NOT NULL`,
    );
    await runner.query(`
      CREATE TABLE retention_policies (
        project_id text COLLATE "C" NOT NULL,
        calls_days integer,
        payload_days integer,
        payload_cursor json,
        walk_started_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT retention_policies_pkey PRIMARY KEY (project_id)
      )`);
    await runner.query(`
      CREATE TABLE audit_events (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        action text COLLATE "C" NOT NULL,
        key_id uuid,
        user_name text COLLATE "C" NOT NULL,
        target text COLLATE "C",
        scopes text[] COLLATE "C",
        detail json NOT NULL,
        CONSTRAINT audit_events_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX audit_events_created_idx ON audit_events (created_at, id)`);
    // The first use of a key a day, whichever process sees it.
    await runner.query(`
      CREATE UNIQUE INDEX audit_events_use_idx ON audit_events (key_id, ((created_at AT TIME ZONE 'UTC')::date))
      WHERE action = 'keys.use'`);
    await runner.query(`
      CREATE FUNCTION skein_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION '% is never edited', TG_TABLE_NAME;
      END $$`);
    await runner.query(`
      CREATE TRIGGER audit_events_never_edited BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
      FOR EACH STATEMENT EXECUTE FUNCTION skein_refuse_change()`);
    // So that room which erasing leaves is found before as much is written again: bench/erase.mjs.
    await runner.query(`ALTER TABLE calls SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
      toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 5000)`);
    for (const table of ['erasings', 'retention_policies', 'audit_events'])
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE calls RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
      toast.autovacuum_vacuum_scale_factor, toast.autovacuum_vacuum_threshold)`);
    for (const table of ['audit_events', 'retention_policies', 'erasings'])
      await runner.query(`DROP TABLE ${table}`);
    await runner.query(`DROP FUNCTION skein_refuse_change()`);
  }
}
