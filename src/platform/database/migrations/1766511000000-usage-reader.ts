import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A stored usage says which reader made it (docs/adr/0012-costs.md). Calls whose usage has no such mark are read again in the background:
 * those that are there, and those that a process of an older build still writes.
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
