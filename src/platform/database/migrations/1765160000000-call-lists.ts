import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An index for each question that a list of calls is asked (docs/adr/0018-lists-of-calls.md has what each costs a write).
 * Those of two columns hold each name once for all of its calls, so they are small and cheap; a rare name is then sorted by
 * time, and of a frequent one the newest are found by `calls_started_idx`.
 */
export class CallLists1765160000000 implements MigrationInterface {
  name = 'CallLists1765160000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const [name, definition] of Object.entries(INDEXES))
      await runner.query(`CREATE INDEX ${name} ON calls ${definition}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const name of Object.keys(INDEXES)) await runner.query(`DROP INDEX ${name}`);
  }
}

const INDEXES = {
  calls_op_idx: '(project_id, op_name)',
  calls_user_idx: '(project_id, user_id)',
  // not the bare column: the planner would take this index for the one of turns, which has all that statistics of threads read
  calls_thread_idx: `(project_id, (thread_id || '')) WHERE thread_id IS NOT NULL`,
  calls_turn_idx: '(project_id, turn_id) WHERE turn_id IS NOT NULL',
  calls_failed_idx:
    '(project_id, started_at, id) WHERE exception IS NOT NULL OR has_descendant_error',
  calls_running_idx: '(project_id, started_at, id) WHERE ended_at IS NULL',
  // as `summary.<wire>.latency_ms` reads it
  calls_root_latency_idx:
    '(project_id, ((extract(epoch FROM ended_at - started_at) * 1000)::float8) DESC NULLS LAST, id) WHERE parent_id IS NULL',
};
