import type { MigrationInterface, QueryRunner } from 'typeorm';

const EVENTS = `'training_started', 'gradient_step', 'training_ended', 'training_failed'`;

/** Files of checkpoints, and what trainers report beside numbers (docs/adr/0042-checkpoint-files.md). */
export class CheckpointFiles1766410000000 implements MigrationInterface {
  name = 'CheckpointFiles1766410000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE checkpoint_parts (
        project_id text COLLATE "C" NOT NULL,
        job_id uuid NOT NULL,
        file text COLLATE "C" NOT NULL,
        part integer NOT NULL,
        upload_id uuid NOT NULL,
        size_bytes integer NOT NULL,
        CONSTRAINT checkpoint_parts_pkey PRIMARY KEY (project_id, job_id, file, part)
      )`);
    await runner.query(`
      CREATE TABLE checkpoint_chunks (
        project_id text COLLATE "C" NOT NULL,
        upload_id uuid NOT NULL,
        seq integer NOT NULL,
        bytes bytea NOT NULL,
        CONSTRAINT checkpoint_chunks_pkey PRIMARY KEY (project_id, upload_id, seq)
      )`);
    await runner.query('ALTER TABLE checkpoint_parts ALTER COLUMN project_id SET STATISTICS 0');
    await runner.query('ALTER TABLE checkpoint_chunks ALTER COLUMN project_id SET STATISTICS 0');
    await runner.query('ALTER TABLE checkpoint_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL');
    await runner.query(
      'ALTER TABLE checkpoints ADD COLUMN job_id uuid, ADD COLUMN files json, ADD COLUMN config json',
    );
    await runner.query(
      'ALTER TABLE training_jobs ADD COLUMN state json, ADD COLUMN no_step_reason text COLLATE "C"',
    );
    await runner.query('ALTER TABLE body_chunks ADD COLUMN groups_before integer');
    await runner.query(
      'ALTER TABLE training_job_events DROP CONSTRAINT training_job_events_type_check',
    );
    await runner.query(
      `ALTER TABLE training_job_events ADD CONSTRAINT training_job_events_type_check CHECK (type IN (${EVENTS}, 'note', 'evaluation'))`,
    );
    await runner.query('DROP INDEX training_job_events_once_idx');
    await runner.query(
      `CREATE UNIQUE INDEX training_job_events_once_idx ON training_job_events (project_id, job_id, type) WHERE type IN ('training_started', 'training_ended', 'training_failed')`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM training_job_events WHERE type IN ('note', 'evaluation')`);
    await runner.query('DROP INDEX training_job_events_once_idx');
    await runner.query(
      `CREATE UNIQUE INDEX training_job_events_once_idx ON training_job_events (project_id, job_id, type) WHERE type <> 'gradient_step'`,
    );
    await runner.query(
      'ALTER TABLE training_job_events DROP CONSTRAINT training_job_events_type_check',
    );
    await runner.query(
      `ALTER TABLE training_job_events ADD CONSTRAINT training_job_events_type_check CHECK (type IN (${EVENTS}))`,
    );
    await runner.query('ALTER TABLE body_chunks DROP COLUMN groups_before');
    await runner.query('ALTER TABLE training_jobs DROP COLUMN state, DROP COLUMN no_step_reason');
    await runner.query(
      'ALTER TABLE checkpoints DROP COLUMN job_id, DROP COLUMN files, DROP COLUMN config',
    );
    await runner.query('DROP TABLE checkpoint_parts, checkpoint_chunks');
  }
}
