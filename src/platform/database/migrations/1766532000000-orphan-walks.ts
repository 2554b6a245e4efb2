import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How far the calls that a project had were looked through for orphans, and up to which start (docs/adr/0018-lists-of-calls.md). */
export class OrphanWalks1766532000000 implements MigrationInterface {
  name = 'OrphanWalks1766532000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE orphan_walks (
        project_id text COLLATE "C" NOT NULL,
        until timestamptz NOT NULL,
        started_at timestamptz NOT NULL DEFAULT '-infinity',
        call_id text COLLATE "C" NOT NULL DEFAULT '',
        CONSTRAINT orphan_walks_pkey PRIMARY KEY (project_id)
      )`);
    await runner.query('ALTER TABLE orphan_walks ALTER COLUMN project_id SET STATISTICS 0');
    // a process of the version before may go on for a while
    await runner.query(`
      INSERT INTO orphan_walks (project_id, until)
      SELECT project_id, now() + interval '1 hour' FROM (
        SELECT project_id FROM projects UNION SELECT project_id FROM project_marks) p`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE orphan_walks');
  }
}
