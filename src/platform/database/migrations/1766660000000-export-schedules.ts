import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Exports by schedule, and the time at which the statistics of a slot were computed (docs/adr/0141-exports.md). */
export class ExportSchedules1766660000000 implements MigrationInterface {
  name = 'ExportSchedules1766660000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE export_schedules (
        project_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        format text COLLATE "C" NOT NULL,
        every text COLLATE "C",
        request json NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        failures int NOT NULL DEFAULT 0,
        last_error text COLLATE "C",
        retry_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT export_schedules_pkey PRIMARY KEY (project_id, name)
      )`);
    await runner.query(`
      CREATE TABLE exported_files (
        project_id text COLLATE "C" NOT NULL,
        schedule text COLLATE "C" NOT NULL,
        path text COLLATE "C" NOT NULL,
        print text COLLATE "C" NOT NULL DEFAULT '',
        window_start timestamptz,
        window_end timestamptz,
        row_count bigint NOT NULL DEFAULT 0,
        bytes bigint NOT NULL DEFAULT 0,
        sha256 text COLLATE "C",
        schema_version int,
        written_at timestamptz,
        CONSTRAINT exported_files_pkey PRIMARY KEY (project_id, schedule, path)
      )`);
    await runner.query(`
      CREATE INDEX exported_files_manifest_idx ON exported_files (project_id, schedule)
      WHERE path = 'manifest.json'`);
    await runner.query('ALTER TABLE export_schedules ALTER COLUMN project_id SET STATISTICS 0');
    await runner.query('ALTER TABLE exported_files ALTER COLUMN project_id SET STATISTICS 0');
    await runner.query(
      'ALTER TABLE call_slots ADD COLUMN computed_at timestamptz NOT NULL DEFAULT now()',
    );
    await runner.query(
      'CREATE INDEX call_slots_computed_idx ON call_slots (project_id, slot, computed_at)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX call_slots_computed_idx');
    await runner.query('ALTER TABLE call_slots DROP COLUMN computed_at');
    await runner.query('DROP TABLE exported_files');
    await runner.query('DROP TABLE export_schedules');
  }
}
