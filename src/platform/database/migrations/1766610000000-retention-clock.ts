import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The clock of the database as retention has seen it last, so that a restart does not hide that the clock was set. */
export class RetentionClock1766610000000 implements MigrationInterface {
  name = 'RetentionClock1766610000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE retention_clock (
        is_only boolean NOT NULL DEFAULT true,
        seen_at timestamptz NOT NULL,
        ahead_ms double precision NOT NULL DEFAULT 0,
        waits_until timestamptz,
        CONSTRAINT retention_clock_pkey PRIMARY KEY (is_only)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE retention_clock');
  }
}
