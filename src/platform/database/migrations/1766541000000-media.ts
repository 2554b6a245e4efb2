import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Pictures, sounds and other media that documents name (docs/adr/0055-langfuse.md). */
export class Media1766541000000 implements MigrationInterface {
  name = 'Media1766541000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE media (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        content_type text COLLATE "C" NOT NULL,
        size_bytes integer NOT NULL,
        sha256 text COLLATE "C" NOT NULL,
        secret bytea NOT NULL,
        digest text COLLATE "C",
        uploaded_at timestamptz,
        CONSTRAINT media_pkey PRIMARY KEY (project_id, id)
      );
      ALTER TABLE media ALTER COLUMN project_id SET STATISTICS 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE media');
  }
}
