import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Calls of evaluations and of the playground say that they are (docs/adr/0140-sources-of-calls.md). The calls that are there are looked
 * through in the background, together with their parents.
 */
export class CallSources1766590000000 implements MigrationInterface {
  name = 'CallSources1766590000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE calls ADD COLUMN source text COLLATE "C" NOT NULL DEFAULT 'production', ADD COLUMN own_source text COLLATE "C"`);
    await runner.query(
      `CREATE INDEX calls_source_idx ON calls (project_id, started_at, id) WHERE source <> 'production'`,
    );
    // a process of the version before may go on for a while
    await runner.query(`
      INSERT INTO orphan_walks (project_id, until)
      SELECT project_id, now() + interval '1 hour' FROM (
        SELECT project_id FROM projects UNION SELECT project_id FROM project_marks) p
      ON CONFLICT (project_id) DO UPDATE SET until = excluded.until, started_at = DEFAULT, call_id = DEFAULT`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE calls DROP COLUMN source, DROP COLUMN own_source');
  }
}
