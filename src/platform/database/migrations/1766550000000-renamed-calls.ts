import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether `/call/update` has set the name of a call, so that a start which is sent again leaves it. */
export class RenamedCalls1766550000000 implements MigrationInterface {
  name = 'RenamedCalls1766550000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE calls ADD COLUMN is_renamed boolean NOT NULL DEFAULT false`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE calls DROP COLUMN is_renamed`);
  }
}
