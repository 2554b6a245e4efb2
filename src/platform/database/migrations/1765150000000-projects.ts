import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What each project holds, in one row, and the marks that say what has come and gone since that row was written
 * (docs/adr/0033-projects.md). Triggers make the marks, so that whatever writes keeps the counts exact: a mark for each
 * statement and project, only ever inserted and deleted.
 */
export class Projects1765150000000 implements MigrationInterface {
  name = 'Projects1765150000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE projects (
        project_id text COLLATE "C" NOT NULL,
        row_count bigint NOT NULL,
        call_count bigint NOT NULL,
        bytes bigint NOT NULL,
        last_activity timestamptz NOT NULL,
        CONSTRAINT projects_pkey PRIMARY KEY (project_id)
      )`);
    await runner.query(`
      CREATE TABLE project_marks (
        project_id text COLLATE "C" NOT NULL,
        id bigint GENERATED ALWAYS AS IDENTITY,
        row_count bigint NOT NULL,
        call_count bigint NOT NULL,
        bytes bigint NOT NULL,
        made_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT project_marks_pkey PRIMARY KEY (project_id, id)
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`);
    for (const table of ['projects', 'project_marks'])
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
    for (const counted of COUNTED)
      for (const statement of statementsOf(counted)) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { table, events } of COUNTED) {
      for (const event of events)
        await runner.query(`DROP TRIGGER ${table}_mark_project_${event.toLowerCase()} ON ${table}`);
      await runner.query(`DROP FUNCTION skein_mark_project_${table}()`);
    }
    await runner.query(`DROP TABLE project_marks`);
    await runner.query(`DROP TABLE projects`);
  }
}

type Event = 'INSERT' | 'UPDATE' | 'DELETE';

/** A table that makes a project: its rows are counted, and what `bytes` says of each is added up. */
interface Counted {
  table: string;
  /** SQL over a row; 0 when absent. */
  bytes?: string;
  /** Those that may change a sum, or that say of a project that it is in use. */
  events: readonly Event[];
}

const WHOLE_ROWS: readonly Event[] = ['INSERT', 'DELETE'];
const ALL: readonly Event[] = ['INSERT', 'UPDATE', 'DELETE'];

/** Calls come by the marks of their statistics: docs/adr/0033-projects.md. */
const COUNTED: readonly Counted[] = [
  { table: 'object_versions', bytes: 'size_bytes', events: WHOLE_ROWS },
  { table: 'table_rows', bytes: 'octet_length(val::text)', events: WHOLE_ROWS },
  { table: 'tables', bytes: 'octet_length(row_digests)', events: WHOLE_ROWS },
  { table: 'files', bytes: 'size_bytes', events: WHOLE_ROWS },
  { table: 'feedback', bytes: 'octet_length(payload::text)', events: ALL },
  { table: 'costs', events: WHOLE_ROWS },
  { table: 'models', events: WHOLE_ROWS },
  { table: 'trajectory_batches', bytes: 'body_bytes', events: WHOLE_ROWS },
  { table: 'builds', events: WHOLE_ROWS },
  { table: 'build_chunks', bytes: 'octet_length(text)', events: WHOLE_ROWS },
];

const TRANSITION: Record<Event, string> = {
  INSERT: 'REFERENCING NEW TABLE AS written',
  UPDATE: 'REFERENCING OLD TABLE AS replaced NEW TABLE AS written',
  DELETE: 'REFERENCING OLD TABLE AS replaced',
};

function statementsOf({ table, bytes = '0', events }: Counted): string[] {
  const insert = `INSERT INTO project_marks (project_id, row_count, call_count, bytes)`;
  const sums = (sign: string) => `SELECT project_id, ${sign}count(*), 0, ${sign}sum(${bytes})`;
  return [
    `CREATE FUNCTION skein_mark_project_${table}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        ${insert} ${sums('')} FROM written GROUP BY project_id;
      ELSIF TG_OP = 'DELETE' THEN
        ${insert} ${sums('-')} FROM replaced GROUP BY project_id;
      ELSE
        ${insert} SELECT project_id, sum(rows), 0, sum(bytes) FROM (
          SELECT project_id, 1 AS rows, ${bytes} AS bytes FROM written
          UNION ALL SELECT project_id, -1, -(${bytes}) FROM replaced) t
        GROUP BY project_id;
      END IF;
      RETURN NULL;
    END $$`,
    ...events.map(
      (
        event,
      ) => `CREATE TRIGGER ${table}_mark_project_${event.toLowerCase()} AFTER ${event} ON ${table}
        ${TRANSITION[event]} FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_${table}()`,
    ),
    // what is there already; the triggers' locks keep others from writing until all of this is committed
    `${insert} ${sums('')} FROM ${table} GROUP BY project_id`,
  ];
}
