import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Says of a span where its thread comes from, so that turns can move when its parent comes (docs/adr/0030-thread-statistics.md), and which
 * traces have a span below another that names a thread.
 */
export class ThreadSources1766531000000 implements MigrationInterface {
  name = 'ThreadSources1766531000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE calls ADD COLUMN thread_source text COLLATE "C"');
    await runner.query(`CREATE INDEX calls_named_idx ON calls (project_id, trace_id)
      WHERE num_nulls(parent_id, thread_id) = 0 AND num_nulls(thread_source, otel_dump) < 2`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE calls DROP COLUMN thread_source');
    await runner.query('DROP INDEX IF EXISTS calls_named_idx');
  }
}
