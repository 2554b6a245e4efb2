import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Prevents two indexes from serving a lookup of the turns of a thread, for which `calls_turns_idx` exists. With
 * statistics of calls without a thread, both looked equally cheap. PostgreSQL then read the first turns of a project
 * again for each of its threads (docs/adr/0007-no-statistics-of-projects.md). So even the conditions of these indexes
 * do not follow from those of a turn.
 */
export class TurnsOfANewProject1766470000000 implements MigrationInterface {
  name = 'TurnsOfANewProject1766470000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX calls_thread_idx, calls_turn_idx;
      CREATE INDEX calls_thread_idx ON calls (project_id, (thread_id || '')) WHERE (thread_id || '') IS NOT NULL;
      CREATE INDEX calls_turn_idx ON calls (project_id, (turn_id || '')) WHERE (turn_id || '') IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX calls_thread_idx, calls_turn_idx;
      CREATE INDEX calls_thread_idx ON calls (project_id, (thread_id || '')) WHERE thread_id IS NOT NULL;
      CREATE INDEX calls_turn_idx ON calls (project_id, turn_id) WHERE turn_id IS NOT NULL`);
  }
}
