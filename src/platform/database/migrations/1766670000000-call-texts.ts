import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The index of what calls say (docs/adr/0142-texts.md). Calls that are stored already are indexed in the background. */
export class CallTexts1766670000000 implements MigrationInterface {
  name = 'CallTexts1766670000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE call_text_marks (
        project_id text COLLATE "C" NOT NULL,
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        slot timestamptz NOT NULL,
        call_ids text[] NOT NULL,
        is_erasing boolean NOT NULL,
        CONSTRAINT call_text_marks_pkey PRIMARY KEY (project_id, id)
      ) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`);
    await runner.query(`
      CREATE TABLE call_text_segments (
        project_id text COLLATE "C" NOT NULL,
        segment bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        calls integer NOT NULL,
        bytes integer NOT NULL,
        bits smallint NOT NULL,
        first_at timestamptz NOT NULL,
        last_at timestamptz NOT NULL,
        CONSTRAINT call_text_segments_pkey PRIMARY KEY (project_id, segment)
      )`);
    await runner.query(`
      CREATE TABLE call_text_parts (
        project_id text COLLATE "C" NOT NULL,
        segment bigint NOT NULL,
        part integer NOT NULL,
        bytes bytea NOT NULL,
        CONSTRAINT call_text_parts_pkey PRIMARY KEY (project_id, segment, part)
      ) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02)`);
    await runner.query(`
      CREATE TABLE call_text_ids (
        project_id text COLLATE "C" NOT NULL,
        segment bigint NOT NULL,
        "row" integer NOT NULL,
        ids json NOT NULL,
        first_at timestamptz NOT NULL,
        last_at timestamptz NOT NULL,
        CONSTRAINT call_text_ids_pkey PRIMARY KEY (project_id, segment, "row")
      ) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02)`);
    await runner.query(`
      CREATE TABLE call_text_walks (
        project_id text COLLATE "C" NOT NULL,
        before timestamptz NOT NULL,
        CONSTRAINT call_text_walks_pkey PRIMARY KEY (project_id)
      )`);
    // rows of some kilobytes stay in one place, and are not compressed
    for (const [table, column] of [
      ['call_text_marks', 'call_ids'],
      ['call_text_parts', 'bytes'],
      ['call_text_ids', 'ids'],
    ])
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN ${column} SET STORAGE EXTERNAL`);
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
    await runner.query(`
      INSERT INTO call_text_walks (project_id, before)
      SELECT project_id, 'infinity' FROM (
        SELECT project_id FROM projects UNION SELECT project_id FROM project_marks) p`);
  }

  async down(runner: QueryRunner): Promise<void> {
    // the trigger of retention.sql names columns that older migrations drop
    await runner.query('DROP TRIGGER IF EXISTS calls_keep_held ON calls');
    for (const table of TABLES) await runner.query(`DROP TABLE ${table}`);
  }
}

const TABLES = ['marks', 'segments', 'parts', 'ids', 'walks'].map((name) => `call_text_${name}`);
