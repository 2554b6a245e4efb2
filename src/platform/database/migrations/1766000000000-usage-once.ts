import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Usage is read by one table of dialects and counted once (docs/adr/0012-costs.md, docs/adr/0031-call-statistics.md).
 * `response_id` is the provider's id of the response, so that two calls that tell of one request are known. What a
 * call counts follows also from its descendants and from calls of the same response, so marks name the parents and
 * the responses of the calls that changed: no trigger looks at other calls.
 */
export class UsageOnce1766000000000 implements MigrationInterface {
  name = 'UsageOnce1766000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE calls ADD COLUMN response_id text COLLATE "C"`);
    await runner.query(
      `CREATE INDEX calls_response_idx ON calls (project_id, response_id) WHERE response_id IS NOT NULL`,
    );
    await runner.query(
      `ALTER TABLE call_slot_marks ADD COLUMN parent_ids text[], ADD COLUMN response_ids text[]`,
    );
    await runner.query(`DROP FUNCTION IF EXISTS skein_usage(json, boolean)`);
    await runner.query(
      `INSERT INTO call_slot_marks (project_id, slot, call_count) SELECT project_id, slot, 0 FROM call_slots`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE call_slot_marks DROP COLUMN parent_ids, DROP COLUMN response_ids`,
    );
    await runner.query(`ALTER TABLE calls DROP COLUMN response_id`);
  }
}
