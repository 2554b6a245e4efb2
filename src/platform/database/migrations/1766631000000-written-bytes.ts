import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Marks count the bytes that are written, and the bytes of calls whose slots are not computed yet. */
export class WrittenBytes1766631000000 implements MigrationInterface {
  name = 'WrittenBytes1766631000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE project_marks ADD COLUMN written_bytes bigint NOT NULL DEFAULT 0',
    );
    await runner.query('ALTER TABLE call_slot_marks ADD COLUMN bytes bigint NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE project_marks DROP COLUMN written_bytes');
    await runner.query('ALTER TABLE call_slot_marks DROP COLUMN bytes');
  }
}
