import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Calls that ended before they started took an unknown time. Statistics that counted a negative one are computed anew: those of
 * the slots that say so, and of the threads and trials of these calls. Slots with marks were not computed, so their calls are looked up too.
 */
export class UnknownDurations1766580000000 implements MigrationInterface {
  name = 'UnknownDurations1766580000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TEMPORARY TABLE mistimed ON COMMIT DROP AS
      SELECT c.project_id, c.id, c.parent_id, c.thread_id, c.turn_id FROM (
        SELECT project_id, slot FROM call_slots WHERE latency_min < 0
        UNION SELECT project_id, slot FROM call_slot_marks) s
      CROSS JOIN LATERAL (SELECT * FROM calls c WHERE c.project_id = s.project_id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
        AND c.started_at >= s.slot AND c.started_at < s.slot + interval '5 minutes' AND c.ended_at < c.started_at OFFSET 0) c`);
    await runner.query(`
      INSERT INTO call_slot_marks (project_id, slot, call_count) SELECT project_id, slot, 0 FROM call_slots WHERE latency_min < 0`);
    await runner.query(`
      INSERT INTO thread_marks (project_id, thread_id)
      SELECT DISTINCT project_id, thread_id FROM mistimed WHERE id = turn_id AND thread_id <> ''`);
    await runner.query(`
      INSERT INTO trial_marks (project_id, call_ids, run_ids)
      SELECT project_id, array_agg(DISTINCT parent_id), '{}' FROM mistimed WHERE parent_id IS NOT NULL GROUP BY 1`);
  }

  async down(): Promise<void> {
    // the statistics that the older build computes are those of its own rules
  }
}
