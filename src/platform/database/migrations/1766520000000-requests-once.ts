import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Marks all stored statistics: calls count other usage than before (docs/adr/0057-usage-with-descendants.md). */
export class RequestsOnce1766520000000 implements MigrationInterface {
  name = 'RequestsOnce1766520000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `INSERT INTO call_slot_marks (project_id, slot, call_count) SELECT project_id, slot, 0 FROM call_slots`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await this.up(runner);
  }
}
