import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tokens that may have a price of their own, such as audio, are summed up with the others (docs/adr/0012-costs.md). */
export class TokenDetails1766510000000 implements MigrationInterface {
  name = 'TokenDetails1766510000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE call_slot_models ADD COLUMN details numeric[]');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE call_slot_models DROP COLUMN details');
    await runner.query('DROP FUNCTION IF EXISTS skein_detailed_usage(json, boolean)');
    await runner.query(
      'DROP FUNCTION IF EXISTS skein_details_left(bigint[], bigint[], bigint[], integer[])',
    );
  }
}
