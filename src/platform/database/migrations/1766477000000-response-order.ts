import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The calls of one response by their starts: whether a call repeats the usage of an earlier one follows from few of them (docs/adr/0031-call-statistics.md). */
export class ResponseOrder1766477000000 implements MigrationInterface {
  name = 'ResponseOrder1766477000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX calls_response_idx;
      CREATE INDEX calls_response_idx ON calls (project_id, response_id, started_at, id) WHERE response_id IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX calls_response_idx;
      CREATE INDEX calls_response_idx ON calls (project_id, response_id) WHERE response_id IS NOT NULL`);
  }
}
