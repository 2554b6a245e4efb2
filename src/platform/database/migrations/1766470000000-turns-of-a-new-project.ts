import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Neither index may serve a look-up of the turns of a thread, which `calls_turns_idx` is for. Both were as cheap by the statistics of
 * calls that name no thread, and the first turns of a project were then read anew for each of its threads
 * (docs/adr/0007-no-statistics-of-projects.md). So not even their conditions follow from those of a turn.
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
