import type { MigrationInterface, QueryRunner } from 'typeorm';

const IS_TOP = '(parent_id IS NULL OR is_orphan)';
const VISIBLE = 'op_name IS NOT NULL AND deleted_at IS NULL';
const LATENCY = `(((EXTRACT(epoch FROM (ended_at - started_at)) * 1000)::double precision)) DESC NULLS LAST`;

/**
 * Calls whose parent is not stored are roots too (docs/adr/0018-lists-of-calls.md). The indexes of roots hold them; a process of the
 * version before reads its roots from the same indexes. Rows that are there are looked through in the background.
 */
export class Orphans1766530000000 implements MigrationInterface {
  name = 'Orphans1766530000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE calls ADD COLUMN is_orphan boolean NOT NULL DEFAULT false');
    await runner.query('DROP INDEX calls_roots_idx, calls_root_latency_idx');
    await runner.query(
      `CREATE INDEX calls_roots_idx ON calls (project_id, started_at DESC, id) INCLUDE (parent_id, trace_id)
        WHERE ${IS_TOP} AND ${VISIBLE}`,
    );
    await runner.query(
      `CREATE INDEX calls_root_latency_idx ON calls (project_id, ${LATENCY}, id) WHERE ${IS_TOP} AND ended_at IS NOT NULL`,
    );
    await runner.query(
      'CREATE INDEX calls_orphans_idx ON calls (project_id, parent_id) WHERE is_orphan',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE calls DROP COLUMN is_orphan');
    await runner.query(
      `CREATE INDEX calls_roots_idx ON calls (project_id, started_at DESC, id) WHERE parent_id IS NULL AND ${VISIBLE}`,
    );
    await runner.query(
      `CREATE INDEX calls_root_latency_idx ON calls (project_id, ${LATENCY}, id) WHERE parent_id IS NULL AND ended_at IS NOT NULL`,
    );
  }
}
