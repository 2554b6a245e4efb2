import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Models, their checkpoints, trajectories as they were logged, and the queue of training jobs. */
export class Preview1764400000000 implements MigrationInterface {
  name = 'Preview1764400000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE models (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        name text COLLATE "C" NOT NULL,
        base_model text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        deleted_at timestamptz,
        CONSTRAINT models_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX models_id_idx ON models (id)`);
    await runner.query(
      `CREATE UNIQUE INDEX models_name_idx ON models (project_id, name) WHERE deleted_at IS NULL`,
    );
    await runner.query(`
      CREATE TABLE checkpoints (
        project_id text COLLATE "C" NOT NULL,
        model_id uuid NOT NULL,
        step integer NOT NULL,
        id uuid NOT NULL,
        metrics jsonb NOT NULL DEFAULT '{}',
        uri text COLLATE "C",
        sha256 text COLLATE "C",
        size_bytes bigint,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT checkpoints_pkey PRIMARY KEY (project_id, model_id, step)
      )`);
    await runner.query(`
      CREATE TABLE trajectory_uploads (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        touched_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT trajectory_uploads_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`
      CREATE TABLE trajectory_batches (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        model_id uuid NOT NULL,
        split text COLLATE "C",
        job_id uuid,
        step integer NOT NULL,
        num_groups integer NOT NULL,
        num_trajectories integer NOT NULL,
        body_bytes bigint NOT NULL,
        body_sha256 bytea NOT NULL,
        payload_bytes bigint NOT NULL,
        payload_sha256 bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT trajectory_batches_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(
      `CREATE INDEX trajectory_batches_model_idx ON trajectory_batches (project_id, model_id)`,
    );
    await runner.query(`
      CREATE TABLE body_chunks (
        project_id text COLLATE "C" NOT NULL,
        batch_id uuid NOT NULL,
        seq integer NOT NULL,
        is_payload boolean NOT NULL,
        text bytea NOT NULL,
        edits bytea,
        CONSTRAINT body_chunks_pkey PRIMARY KEY (project_id, batch_id, seq)
      )`);
    // Compressed already: PostgreSQL need not try again.
    await runner.query(
      `ALTER TABLE body_chunks ALTER COLUMN text SET STORAGE EXTERNAL, ALTER COLUMN edits SET STORAGE EXTERNAL`,
    );
    await runner.query(`
      CREATE TABLE trajectories (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        batch_id uuid NOT NULL,
        group_index integer NOT NULL,
        trajectory_index integer NOT NULL,
        num_tokens integer NOT NULL,
        is_opaque boolean NOT NULL DEFAULT false,
        reward double precision,
        start_time timestamptz NOT NULL,
        document json NOT NULL,
        CONSTRAINT trajectories_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(
      `CREATE INDEX trajectories_batch_idx ON trajectories (project_id, batch_id)`,
    );
    await runner.query(`
      CREATE TABLE training_jobs (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        model_id uuid NOT NULL,
        batch_id uuid NOT NULL,
        status text COLLATE "C" NOT NULL DEFAULT 'queued' CONSTRAINT training_jobs_status_check
          CHECK (status IN ('queued', 'leased', 'running', 'succeeded', 'failed', 'cancelled')),
        attempt integer NOT NULL DEFAULT 0,
        parent_step integer,
        step integer,
        user_id text COLLATE "C" NOT NULL,
        worker_id text COLLATE "C",
        lease_token_hash bytea,
        lease_expires_at timestamptz,
        leased_at timestamptz,
        queued_at timestamptz NOT NULL DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz,
        finished_at timestamptz,
        cancel_requested_at timestamptz,
        error_message text COLLATE "C",
        experimental_config json,
        CONSTRAINT training_jobs_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX training_jobs_id_idx ON training_jobs (id)`);
    await runner.query(
      `CREATE INDEX training_jobs_queue_idx ON training_jobs (created_at, id) WHERE status = 'queued'`,
    );
    await runner.query(
      `CREATE INDEX training_jobs_model_idx ON training_jobs (project_id, model_id, id)`,
    );
    await runner.query(
      `CREATE UNIQUE INDEX training_jobs_one_running_idx ON training_jobs (project_id, model_id)
         WHERE status IN ('leased', 'running')`,
    );
    await runner.query(`
      CREATE TABLE training_job_events (
        project_id text COLLATE "C" NOT NULL,
        job_id uuid NOT NULL,
        seq integer NOT NULL,
        id uuid NOT NULL,
        type text COLLATE "C" NOT NULL CONSTRAINT training_job_events_type_check
          CHECK (type IN ('training_started', 'gradient_step', 'training_ended', 'training_failed')),
        data json NOT NULL,
        attempt integer NOT NULL,
        trainer_seq bigint,
        is_hidden boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT training_job_events_pkey PRIMARY KEY (project_id, job_id, seq)
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX training_job_events_trainer_seq_idx
         ON training_job_events (project_id, job_id, attempt, trainer_seq)`,
    );
    await runner.query(
      `CREATE UNIQUE INDEX training_job_events_once_idx ON training_job_events (project_id, job_id, type)
         WHERE type <> 'gradient_step'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of [
      'training_job_events',
      'training_jobs',
      'trajectories',
      'body_chunks',
      'trajectory_batches',
      'trajectory_uploads',
      'checkpoints',
      'models',
    ])
      await runner.query(`DROP TABLE ${table}`);
  }
}
