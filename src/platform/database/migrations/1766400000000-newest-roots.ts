import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Pages through the newest roots without their rows: `laterPage` of `src/tracing/calls/read/call-lists.query.ts`. */
export class NewestRoots1766400000000 implements MigrationInterface {
  name = 'NewestRoots1766400000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE INDEX calls_roots_idx ON calls (project_id, started_at DESC, id)
      WHERE parent_id IS NULL AND op_name IS NOT NULL AND deleted_at IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX calls_roots_idx');
  }
}
