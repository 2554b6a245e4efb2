import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Days for which feedback is kept, and policies that RETENTION_DEFAULT has made. */
export class RetentionByClass1766612000000 implements MigrationInterface {
  name = 'RetentionByClass1766612000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE retention_policies ADD COLUMN feedback_days integer, ADD COLUMN is_default boolean NOT NULL DEFAULT false`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE retention_policies DROP COLUMN feedback_days, DROP COLUMN is_default',
    );
  }
}
