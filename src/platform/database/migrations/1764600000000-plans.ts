import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = [
  'idempotency_keys',
  'calls',
  'object_versions',
  'table_rows',
  'tables',
  'files',
  'file_chunks',
  'feedback',
  'costs',
  'threads',
  'thread_marks',
  'models',
  'checkpoints',
  'trajectory_uploads',
  'trajectory_batches',
  'body_chunks',
  'trajectories',
  'training_jobs',
  'training_job_events',
];

/**
 * Keeps no statistics of `project_id`. A project that is loaded after the last ANALYZE is not in them, and PostgreSQL then
 * expects one row of it: every index that begins with `project_id` looks as good as the right one, and a statement that
 * looks into it once a thread reads the whole project each time. Without statistics every project is expected to hold
 * 1/200 of the table, whatever was loaded when (docs/adr/0007-no-statistics-of-projects.md).
 */
export class Plans1764600000000 implements MigrationInterface {
  name = 'Plans1764600000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TRIGGER calls_mark_updated ON calls`); // it names the column, whose type cannot be set then
    for (const table of TABLES)
      // setting the type that it has drops the statistics that there are
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0,
        ALTER COLUMN project_id SET DATA TYPE text COLLATE "C"`);
    await runner.query(MARK_UPDATED);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS -1`);
  }
}

/** As the migration of threads wrote it. */
const MARK_UPDATED = `
  CREATE TRIGGER calls_mark_updated AFTER UPDATE ON calls FOR EACH ROW
  WHEN ((OLD.id = OLD.turn_id AND OLD.thread_id <> '' OR NEW.id = NEW.turn_id AND NEW.thread_id <> '')
    AND (OLD.project_id, OLD.id, OLD.turn_id, OLD.thread_id, OLD.op_name IS NULL, OLD.deleted_at IS NULL,
      OLD.started_at, OLD.ended_at)
    IS DISTINCT FROM (NEW.project_id, NEW.id, NEW.turn_id, NEW.thread_id, NEW.op_name IS NULL,
      NEW.deleted_at IS NULL, NEW.started_at, NEW.ended_at))
  EXECUTE FUNCTION skein_mark_thread()`;
