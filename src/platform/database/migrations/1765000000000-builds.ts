import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Builds of training data: their groups, what went in, and the jobs they were submitted to. */
export class Builds1765000000000 implements MigrationInterface {
  name = 'Builds1765000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE builds (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        recipe_name text COLLATE "C" NOT NULL,
        recipe_digest text COLLATE "C" NOT NULL,
        recipe json NOT NULL,
        mode text COLLATE "C" NOT NULL,
        builder_version integer NOT NULL,
        as_of timestamptz NOT NULL,
        digest text COLLATE "C" NOT NULL,
        manifest_digest text COLLATE "C" NOT NULL,
        num_chunks integer NOT NULL,
        counts json NOT NULL,
        lints json NOT NULL,
        facts json NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        erased_at timestamptz,
        CONSTRAINT builds_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX builds_created_idx ON builds (project_id, created_at, id)`);
    await runner.query(`
      CREATE TABLE build_chunks (
        project_id text COLLATE "C" NOT NULL,
        build_id uuid NOT NULL,
        seq integer NOT NULL,
        split text COLLATE "C" NOT NULL,
        text bytea NOT NULL,
        CONSTRAINT build_chunks_pkey PRIMARY KEY (project_id, build_id, seq)
      )`);
    // Compressed already: PostgreSQL need not try again.
    await runner.query(`ALTER TABLE build_chunks ALTER COLUMN text SET STORAGE EXTERNAL`);
    await runner.query(`
      CREATE TABLE build_inputs (
        project_id text COLLATE "C" NOT NULL,
        build_id uuid NOT NULL,
        kind text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        sha256 text COLLATE "C" NOT NULL,
        CONSTRAINT build_inputs_pkey PRIMARY KEY (project_id, build_id, kind, id)
      )`);
    await runner.query(`CREATE INDEX build_inputs_id_idx ON build_inputs (project_id, kind, id)`);
    await runner.query(`
      CREATE TABLE build_units (
        project_id text COLLATE "C" NOT NULL,
        build_id uuid NOT NULL,
        group_index integer NOT NULL,
        trajectory_index integer NOT NULL,
        split text COLLATE "C" NOT NULL,
        unit_id text COLLATE "C" NOT NULL,
        call_id text COLLATE "C" NOT NULL,
        reward double precision NOT NULL,
        CONSTRAINT build_units_pkey PRIMARY KEY (project_id, build_id, group_index, trajectory_index)
      )`);
    await runner.query(`CREATE INDEX build_units_unit_idx ON build_units (project_id, unit_id)`);
    await runner.query(`
      CREATE TABLE build_jobs (
        project_id text COLLATE "C" NOT NULL,
        build_id uuid NOT NULL,
        job_id uuid NOT NULL,
        log_batch_id uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        erased_at timestamptz,
        CONSTRAINT build_jobs_pkey PRIMARY KEY (project_id, build_id, job_id)
      )`);
    await runner.query(`CREATE INDEX build_jobs_job_idx ON build_jobs (project_id, job_id)`);
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES.toReversed()) await runner.query(`DROP TABLE ${table}`);
  }
}

const TABLES = ['builds', 'build_chunks', 'build_inputs', 'build_units', 'build_jobs'];
