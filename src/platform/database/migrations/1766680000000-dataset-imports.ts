import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows of files that are being imported into datasets. */
export class DatasetImports1766680000000 implements MigrationInterface {
  name = 'DatasetImports1766680000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE dataset_import_rows (
        project_id text COLLATE "C" NOT NULL,
        upload_id uuid NOT NULL,
        digest text COLLATE "C" NOT NULL,
        seq integer NOT NULL,
        is_opaque boolean NOT NULL,
        val json NOT NULL,
        CONSTRAINT dataset_import_rows_pkey PRIMARY KEY (project_id, upload_id, digest)
      )`);
    await runner.query('ALTER TABLE dataset_import_rows ALTER COLUMN project_id SET STATISTICS 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE dataset_import_rows');
  }
}
