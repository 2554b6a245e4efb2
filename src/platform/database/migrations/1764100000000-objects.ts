import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Object versions, tables and files. */
export class Objects1764100000000 implements MigrationInterface {
  name = 'Objects1764100000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE object_versions (
        project_id text COLLATE "C" NOT NULL,
        object_id text COLLATE "C" NOT NULL,
        version_index integer NOT NULL,
        digest text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL,
        deleted_at timestamptz,
        is_latest boolean NOT NULL,
        kind text COLLATE "C" NOT NULL,
        base_object_class text COLLATE "C",
        leaf_object_class text COLLATE "C",
        user_id text COLLATE "C",
        size_bytes integer NOT NULL,
        val json NOT NULL,
        CONSTRAINT object_versions_pkey PRIMARY KEY (project_id, object_id, version_index),
        CONSTRAINT object_versions_latest_check CHECK (NOT is_latest OR deleted_at IS NULL)
      )`);
    await runner.query(`
      CREATE UNIQUE INDEX object_versions_latest_idx ON object_versions (project_id, object_id) WHERE is_latest`);
    await runner.query(`
      CREATE UNIQUE INDEX object_versions_live_idx ON object_versions (project_id, object_id, digest)
      WHERE deleted_at IS NULL`);
    await runner.query(`
      CREATE INDEX object_versions_created_idx ON object_versions (project_id, created_at, version_index, object_id)
      WHERE deleted_at IS NULL`);
    await runner.query(`
      CREATE INDEX object_versions_latest_created_idx
      ON object_versions (project_id, created_at, version_index, object_id) WHERE is_latest`);
    await runner.query(`
      CREATE TABLE table_rows (
        project_id text COLLATE "C" NOT NULL,
        digest text COLLATE "C" NOT NULL,
        is_opaque boolean NOT NULL,
        val json NOT NULL,
        CONSTRAINT table_rows_pkey PRIMARY KEY (project_id, digest)
      )`);
    await runner.query(`
      CREATE TABLE tables (
        project_id text COLLATE "C" NOT NULL,
        digest text COLLATE "C" NOT NULL,
        row_digests bytea NOT NULL,
        CONSTRAINT tables_pkey PRIMARY KEY (project_id, digest)
      )`);
    // Uncompressed values are read by the slice; hashes and most files would not shrink anyway.
    await runner.query(`ALTER TABLE tables ALTER COLUMN row_digests SET STORAGE EXTERNAL`);
    await runner.query(`
      CREATE TABLE files (
        project_id text COLLATE "C" NOT NULL,
        digest text COLLATE "C" NOT NULL,
        upload_id uuid NOT NULL,
        size_bytes integer NOT NULL,
        CONSTRAINT files_pkey PRIMARY KEY (project_id, digest)
      )`);
    await runner.query(`
      CREATE TABLE file_chunks (
        project_id text COLLATE "C" NOT NULL,
        upload_id uuid NOT NULL,
        chunk_index integer NOT NULL,
        bytes bytea NOT NULL,
        CONSTRAINT file_chunks_pkey PRIMARY KEY (project_id, upload_id, chunk_index)
      )`);
    await runner.query(`ALTER TABLE file_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['file_chunks', 'files', 'tables', 'table_rows', 'object_versions'])
      await runner.query(`DROP TABLE ${table}`);
  }
}
