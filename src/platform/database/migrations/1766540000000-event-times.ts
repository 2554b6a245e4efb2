import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the events were made that gave calls and scores their members (docs/adr/0055-langfuse.md). */
export class EventTimes1766540000000 implements MigrationInterface {
  name = 'EventTimes1766540000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE calls ADD COLUMN event_times json;
      ALTER TABLE feedback ADD COLUMN event_times json`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE calls DROP COLUMN event_times;
      ALTER TABLE feedback DROP COLUMN event_times`);
  }
}
