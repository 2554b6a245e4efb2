import type { MigrationInterface, QueryRunner } from 'typeorm';

const RUNNING = 'WHERE ended_at IS NULL';
const ENDED_ROOTS = 'WHERE parent_id IS NULL AND ended_at IS NOT NULL';
const LATENCY = `(((EXTRACT(epoch FROM (ended_at - started_at)) * 1000)::double precision)) DESC NULLS LAST`;

/**
 * Roots by their latency are those that have ended, so that starts need not write them. The index of running calls ends with the
 * time, without the id: calls of one time are added in the order in which they come, wherever their ids would sort
 * (docs/adr/0018-lists-of-calls.md).
 */
export class NarrowIndexes1766460000000 implements MigrationInterface {
  name = 'NarrowIndexes1766460000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX calls_running_idx, calls_root_latency_idx;
      CREATE INDEX calls_running_idx ON calls (project_id, started_at) ${RUNNING};
      CREATE INDEX calls_root_latency_idx ON calls (project_id, ${LATENCY}, id) ${ENDED_ROOTS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX calls_running_idx, calls_root_latency_idx;
      CREATE INDEX calls_running_idx ON calls (project_id, started_at, id) ${RUNNING};
      CREATE INDEX calls_root_latency_idx ON calls (project_id, ${LATENCY}, id) WHERE parent_id IS NULL`);
  }
}
