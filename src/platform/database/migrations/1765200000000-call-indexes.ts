import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The paths of calls that admins want indexed; the indexes themselves are made while the service runs (docs/adr/0016-indexes-on-fields.md). */
export class CallIndexes1765200000000 implements MigrationInterface {
  name = 'CallIndexes1765200000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE call_indexes (
        project_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        field text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL CONSTRAINT call_indexes_kind_check CHECK (kind IN ('text', 'number', 'substring')),
        error text COLLATE "C",
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT call_indexes_pkey PRIMARY KEY (project_id, name)
      )`);
    await runner.query(`ALTER TABLE call_indexes ALTER COLUMN project_id SET STATISTICS 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    const made = (await runner.query(
      `SELECT relname FROM pg_class WHERE relkind = 'i' AND starts_with(relname, 'calls_field_')
         AND relnamespace = current_schema()::regnamespace`,
    )) as { relname: string }[];
    for (const { relname } of made) await runner.query(`DROP INDEX "${relname}"`);
    await runner.query(`DROP TABLE call_indexes`);
  }
}
