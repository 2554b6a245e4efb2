import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Usage is read once, when an end is stored, and not by each reader (docs/adr/0012-costs.md). Rows that are there are read in
 * the background: they begin as `has_unread_usage`, which PostgreSQL adds to them without writing them.
 */
export class StoredUsage1766200000000 implements MigrationInterface {
  name = 'StoredUsage1766200000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE calls ADD COLUMN usage json, ADD COLUMN counts_gross boolean NOT NULL DEFAULT false,
        ADD COLUMN has_unread_usage boolean NOT NULL DEFAULT true`,
    );
    await runner.query(
      `CREATE INDEX calls_unread_usage_idx ON calls (project_id, started_at, id) WHERE has_unread_usage`,
    );
    for (const unused of [
      'skein_usage(json, boolean, json)',
      'skein_has_usage(json, boolean)',
      'skein_counts_gross(json, boolean)',
      'skein_count(json)',
      'skein_without(json, text)',
      'skein_members(json, text, text[])',
    ])
      await runner.query(`DROP FUNCTION IF EXISTS ${unused}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE calls DROP COLUMN usage, DROP COLUMN counts_gross, DROP COLUMN has_unread_usage',
    );
    await runner.query('DROP FUNCTION IF EXISTS skein_usage(json, boolean)');
  }
}
