import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Trials of evaluations, kept for reading, and the marks that say which have changed (docs/adr/0132-evaluations.md). */
export class KeptTrials1766475000000 implements MigrationInterface {
  name = 'KeptTrials1766475000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE kept_trials (
        project_id text COLLATE "C" NOT NULL,
        run_id text COLLATE "C" NOT NULL,
        chunk integer NOT NULL,
        chunks integer NOT NULL,
        ids json,
        digests json,
        numbers json,
        scores json,
        full_scores json,
        spent json,
        CONSTRAINT kept_trials_pkey PRIMARY KEY (project_id, run_id, chunk)
      );
      CREATE TABLE trial_marks (
        project_id text COLLATE "C" NOT NULL,
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        call_ids text[] COLLATE "C" NOT NULL,
        run_ids text[] COLLATE "C" NOT NULL,
        CONSTRAINT trial_marks_pkey PRIMARY KEY (project_id, id)
      )`);
    for (const table of ['kept_trials', 'trial_marks'])
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
    // what ended before is kept as if it had ended now
    await runner.query(`
      INSERT INTO trial_marks (project_id, call_ids, run_ids)
      SELECT project_id, '{}', array_agg(id) FROM calls
      WHERE strpos(op_name, 'Evaluation.evaluate') > 0 AND ended_at IS NOT NULL AND deleted_at IS NULL
      GROUP BY project_id`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE kept_trials, trial_marks');
  }
}
