import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tags and aliases of object versions (docs/adr/0056-tags-and-aliases.md). */
export class ObjectLabels1765600000000 implements MigrationInterface {
  name = 'ObjectLabels1765600000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE object_tags (
        project_id text COLLATE "C" NOT NULL,
        object_id text COLLATE "C" NOT NULL,
        version_index integer NOT NULL,
        tag text COLLATE "C" NOT NULL,
        CONSTRAINT object_tags_pkey PRIMARY KEY (project_id, object_id, version_index, tag)
      )`);
    await runner.query(`CREATE INDEX object_tags_tag_idx ON object_tags (project_id, tag)`);
    await runner.query(`
      CREATE TABLE object_aliases (
        project_id text COLLATE "C" NOT NULL,
        object_id text COLLATE "C" NOT NULL,
        alias text COLLATE "C" NOT NULL,
        version_index integer NOT NULL,
        CONSTRAINT object_aliases_pkey PRIMARY KEY (project_id, object_id, alias)
      )`);
    await runner.query(
      `CREATE INDEX object_aliases_alias_idx ON object_aliases (project_id, alias)`,
    );
    for (const table of ['object_tags', 'object_aliases'])
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE object_aliases`);
    await runner.query(`DROP TABLE object_tags`);
  }
}
