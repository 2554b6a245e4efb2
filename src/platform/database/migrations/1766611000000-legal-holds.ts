import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Legal holds of projects (docs/erasing.md). */
export class LegalHolds1766611000000 implements MigrationInterface {
  name = 'LegalHolds1766611000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE legal_holds (
        project_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        user_name text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT legal_holds_pkey PRIMARY KEY (project_id, name)
      )`);
    await runner.query('ALTER TABLE legal_holds ALTER COLUMN project_id SET STATISTICS 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE legal_holds');
  }
}
