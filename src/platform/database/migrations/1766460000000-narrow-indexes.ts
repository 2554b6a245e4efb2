import type { MigrationInterface, QueryRunner } from 'typeorm';

const RUNNING = 'WHERE ended_at IS NULL';
const ENDED_ROOTS = 'WHERE parent_id IS NULL AND ended_at IS NOT NULL';
const LATENCY = `(((EXTRACT(epoch FROM (ended_at - started_at)) * 1000)::double precision)) DESC NULLS LAST`;

/**
 * Limits the index of roots by latency to ended roots, so that starts need not write it. The index of running calls
 * ends with the start time, without the id. Calls with the same time are then appended in the order of their arrival
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
