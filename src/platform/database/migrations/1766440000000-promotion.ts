import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Aliases of models with the history of their moves, and marks of what was trained on erased calls (docs/adr/0043-promotion.md). */
export class Promotion1766440000000 implements MigrationInterface {
  name = 'Promotion1766440000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE model_aliases (
        project_id text COLLATE "C" NOT NULL,
        model_id uuid NOT NULL,
        alias text COLLATE "C" NOT NULL,
        step integer NOT NULL,
        seq integer NOT NULL,
        CONSTRAINT model_aliases_pkey PRIMARY KEY (project_id, model_id, alias)
      );
      CREATE TABLE model_alias_moves (
        project_id text COLLATE "C" NOT NULL,
        model_id uuid NOT NULL,
        alias text COLLATE "C" NOT NULL,
        seq integer NOT NULL,
        step integer,
        previous_step integer,
        moved_at timestamptz NOT NULL DEFAULT now(),
        moved_by text COLLATE "C" NOT NULL,
        by_hand boolean NOT NULL,
        gate json,
        reason text COLLATE "C",
        CONSTRAINT model_alias_moves_pkey PRIMARY KEY (project_id, model_id, alias, seq)
      );
      ALTER TABLE model_aliases ALTER COLUMN project_id SET STATISTICS 0;
      ALTER TABLE model_alias_moves ALTER COLUMN project_id SET STATISTICS 0;

      ALTER TABLE builds ADD COLUMN tainted_at timestamptz;
      ALTER TABLE checkpoints ADD COLUMN tainted_at timestamptz;
      ALTER TABLE training_jobs ADD COLUMN tainted_at timestamptz, ADD COLUMN retrains_job_id uuid;
      CREATE INDEX training_jobs_parent_idx ON training_jobs (project_id, model_id, parent_step);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX training_jobs_parent_idx;
      ALTER TABLE training_jobs DROP COLUMN tainted_at, DROP COLUMN retrains_job_id;
      ALTER TABLE checkpoints DROP COLUMN tainted_at;
      ALTER TABLE builds DROP COLUMN tainted_at;
      DROP TABLE model_alias_moves, model_aliases;
    `);
  }
}
