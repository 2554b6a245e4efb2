import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Jobs of supervised fine-tuning, and conversations that clients send for them. */
export class SftJobs1766450000000 implements MigrationInterface {
  name = 'SftJobs1766450000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE training_jobs
        ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'rl'
          CONSTRAINT training_jobs_kind_check CHECK (kind IN ('rl', 'sft')),
        ADD COLUMN config json,
        ADD COLUMN training_data_url text COLLATE "C"`);
    await runner.query(`
      CREATE TABLE training_data (
        project_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        num_rows integer NOT NULL,
        size_bytes bigint NOT NULL,
        sha256 text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT training_data_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query('CREATE INDEX training_data_id_idx ON training_data (id)');
    await runner.query('ALTER TABLE training_data ALTER COLUMN project_id SET STATISTICS 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DELETE FROM body_chunks c USING training_data d WHERE c.project_id = d.project_id AND c.batch_id = d.id',
    );
    await runner.query('DROP TABLE training_data');
    await runner.query(
      'ALTER TABLE training_jobs DROP COLUMN kind, DROP COLUMN config, DROP COLUMN training_data_url',
    );
  }
}
