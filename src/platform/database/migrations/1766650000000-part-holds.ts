import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Legal holds of a trace or a thread, and the reasons of holds (docs/erasing.md). */
export class PartHolds1766650000000 implements MigrationInterface {
  name = 'PartHolds1766650000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE legal_holds ADD COLUMN trace_id text COLLATE "C", ADD COLUMN thread_id text COLLATE "C",
        ADD COLUMN reason text COLLATE "C"`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE legal_holds DROP COLUMN trace_id, DROP COLUMN thread_id, DROP COLUMN reason',
    );
  }
}
