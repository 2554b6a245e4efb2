import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds calls without a start, which are erased when it has not come within a day (docs/adr/0061-erasing.md). */
export class StartlessCalls1766340000000 implements MigrationInterface {
  name = 'StartlessCalls1766340000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX calls_startless_idx ON calls (logged_at, project_id, id) WHERE op_name IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX calls_startless_idx');
  }
}
