import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of a body with trajectory groups only the payload is kept: nothing ever read the rest (docs/adr/0040-trajectory-bodies.md). */
export class PayloadOnly1766100000000 implements MigrationInterface {
  name = 'PayloadOnly1766100000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM body_chunks WHERE NOT is_payload');
    await runner.query('ALTER TABLE body_chunks DROP COLUMN is_payload, DROP COLUMN edits');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE body_chunks ADD COLUMN is_payload boolean NOT NULL DEFAULT true, ADD COLUMN edits bytea',
    );
    await runner.query(
      'ALTER TABLE body_chunks ALTER COLUMN is_payload DROP DEFAULT, ALTER COLUMN edits SET STORAGE EXTERNAL',
    );
  }
}
