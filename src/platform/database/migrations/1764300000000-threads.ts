import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Statistics of threads as of their last refresh, and the marks that say which threads have changed since
 * (docs/adr/0030-thread-statistics.md). The marks are made by triggers, so that whatever writes to `calls` keeps the
 * statistics exact. Only the row version that an update replaced knows the thread that a turn left.
 */
export class Threads1764300000000 implements MigrationInterface {
  name = 'Threads1764300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE threads (
        project_id text COLLATE "C" NOT NULL,
        thread_id text COLLATE "C" NOT NULL,
        turn_count integer NOT NULL,
        start_time timestamptz NOT NULL,
        last_updated timestamptz NOT NULL,
        first_turn_id text COLLATE "C" NOT NULL,
        last_turn_id text COLLATE "C" NOT NULL,
        p50_turn_duration_ms double precision,
        p99_turn_duration_ms double precision,
        CONSTRAINT threads_pkey PRIMARY KEY (project_id, thread_id)
      )`);
    await runner.query(
      `CREATE INDEX threads_updated_idx ON threads (project_id, last_updated DESC, thread_id)`,
    );
    await runner.query(
      `CREATE INDEX threads_started_idx ON threads (project_id, start_time DESC, thread_id)`,
    );
    await runner.query(
      `CREATE INDEX threads_turns_idx ON threads (project_id, turn_count DESC, thread_id)`,
    );
    // counts tie, so that walking the index above backwards would leave most of the project to sort
    await runner.query(
      `CREATE INDEX threads_turns_asc_idx ON threads (project_id, turn_count, thread_id)`,
    );
    await runner.query(`
      CREATE TABLE thread_marks (
        project_id text COLLATE "C" NOT NULL,
        thread_id text COLLATE "C" NOT NULL,
        id bigint GENERATED ALWAYS AS IDENTITY,
        CONSTRAINT thread_marks_pkey PRIMARY KEY (project_id, thread_id, id)
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`);
    await runner.query(
      `CREATE INDEX calls_turns_idx ON calls (project_id, thread_id, started_at, ended_at, id)
       WHERE id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`,
    );
    // the last condition keeps the planner from this index unless a query bounds started_at, which implies it
    await runner.query(
      `CREATE INDEX calls_turns_started_idx ON calls (project_id, started_at) INCLUDE (ended_at, thread_id, id)
       WHERE id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL`,
    );
    await runner.query(`
      CREATE FUNCTION skein_mark_thread() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'DELETE' AND NEW.id = NEW.turn_id AND NEW.thread_id <> '' THEN
          INSERT INTO thread_marks (project_id, thread_id) VALUES (NEW.project_id, NEW.thread_id);
        END IF;
        IF TG_OP <> 'INSERT' AND OLD.id = OLD.turn_id AND OLD.thread_id <> ''
          AND (OLD.project_id, OLD.id, OLD.turn_id, OLD.thread_id)
            IS DISTINCT FROM (NEW.project_id, NEW.id, NEW.turn_id, NEW.thread_id) THEN
          INSERT INTO thread_marks (project_id, thread_id) VALUES (OLD.project_id, OLD.thread_id);
        END IF;
        RETURN NULL;
      END $$`);
    await runner.query(`
      CREATE TRIGGER calls_mark_inserted AFTER INSERT ON calls FOR EACH ROW
      WHEN (NEW.id = NEW.turn_id AND NEW.thread_id <> '' AND NEW.op_name IS NOT NULL AND NEW.deleted_at IS NULL)
      EXECUTE FUNCTION skein_mark_thread()`);
    await runner.query(`
      CREATE TRIGGER calls_mark_updated AFTER UPDATE ON calls FOR EACH ROW
      WHEN ((OLD.id = OLD.turn_id AND OLD.thread_id <> '' OR NEW.id = NEW.turn_id AND NEW.thread_id <> '')
        AND (OLD.project_id, OLD.id, OLD.turn_id, OLD.thread_id, OLD.op_name IS NULL, OLD.deleted_at IS NULL,
          OLD.started_at, OLD.ended_at)
        IS DISTINCT FROM (NEW.project_id, NEW.id, NEW.turn_id, NEW.thread_id, NEW.op_name IS NULL,
          NEW.deleted_at IS NULL, NEW.started_at, NEW.ended_at))
      EXECUTE FUNCTION skein_mark_thread()`);
    await runner.query(`
      CREATE TRIGGER calls_mark_deleted AFTER DELETE ON calls FOR EACH ROW
      WHEN (OLD.id = OLD.turn_id AND OLD.thread_id <> '' AND OLD.op_name IS NOT NULL AND OLD.deleted_at IS NULL)
      EXECUTE FUNCTION skein_mark_thread()`);
    // turns that are there already; the triggers' locks keep others from writing until all of this is committed
    await runner.query(`
      INSERT INTO thread_marks (project_id, thread_id) SELECT DISTINCT project_id, thread_id FROM calls
      WHERE id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TRIGGER calls_mark_inserted ON calls`);
    await runner.query(`DROP TRIGGER calls_mark_updated ON calls`);
    await runner.query(`DROP TRIGGER calls_mark_deleted ON calls`);
    await runner.query(`DROP FUNCTION skein_mark_thread()`);
    await runner.query(`DROP INDEX calls_turns_started_idx`);
    await runner.query(`DROP INDEX calls_turns_idx`);
    await runner.query(`DROP TABLE thread_marks`);
    await runner.query(`DROP TABLE threads`);
  }
}
