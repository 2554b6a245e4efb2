import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Finds calls whose stored usage does not name the current reader (docs/adr/0012-costs.md). They are read again in the
 * background: existing calls, and calls that a process of an older build still writes.
 */
export class UsageReader1766511000000 implements MigrationInterface {
  name = 'UsageReader1766511000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX calls_unread_usage_idx');
    await runner.query(
      `CREATE INDEX calls_unread_usage_idx ON calls (project_id, started_at, id)
        WHERE has_unread_usage OR usage IS NOT NULL AND (usage -> 0 ->> 'reader') IS DISTINCT FROM '1'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX calls_unread_usage_idx');
    await runner.query(
      'CREATE INDEX calls_unread_usage_idx ON calls (project_id, started_at, id) WHERE has_unread_usage',
    );
  }
}
