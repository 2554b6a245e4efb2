import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a distributed database takes too (docs/adr/0100-citus.md): the triggers of `call_slot_marks` and `project_marks` select
 * from the rows of a statement and insert each mark by itself, the trace of a stored
 * call is looked up by a function, and a time is written by one that is IMMUTABLE.
 */
export class Shards1765800000000 implements MigrationInterface {
  name = 'Shards1765800000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TRACE);
    await runner.query(WIRE_TIME);
    await runner.query(slots(eachSlot));
    for (const counted of COUNTED) await runner.query(project(counted, eachProject));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(slots(allSlots));
    for (const counted of COUNTED) await runner.query(project(counted, allProjects));
    await runner.query(`DROP FUNCTION skein_wire_time(timestamptz)`);
    await runner.query(`DROP FUNCTION skein_trace(text, text)`);
  }
}

/** The trace of a stored call. plpgsql, so that it is not folded into a statement that then joins shards. */
const TRACE = `
  CREATE FUNCTION skein_trace(project text, call text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
  BEGIN
    RETURN (SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id = call);
  END $$`;

/** As answers write times. IMMUTABLE, as what RETURNING computes must be; to_char is STABLE for the names of months only. */
const WIRE_TIME = `
  CREATE FUNCTION skein_wire_time(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  $$`;

/** Writes the marks that a SELECT answers: as of this migration, and as before. */
type Insert = (select: string) => string;

const eachSlot: Insert = (select) => `FOR mark IN ${select} LOOP
        INSERT INTO call_slot_marks (project_id, slot, call_count) VALUES (mark.project_id, mark.slot, mark.calls);
      END LOOP;`;
const allSlots: Insert = (select) =>
  `INSERT INTO call_slot_marks (project_id, slot, call_count) ${select};`;
const eachProject: Insert = (select) => `FOR mark IN ${select} LOOP
        INSERT INTO project_marks (project_id, row_count, call_count, bytes)
        VALUES (mark.project_id, mark.rows, 0, mark.bytes);
      END LOOP;`;
const allProjects: Insert = (select) =>
  `INSERT INTO project_marks (project_id, row_count, call_count, bytes)
        SELECT m.project_id, m.rows, 0, m.bytes FROM (${select}) m;`;

const SLOT = `project_id, date_bin('5 minutes', started_at, 'epoch') AS slot`;
const SHOWN = `WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL`;

const slots = (insert: Insert) => `
  CREATE OR REPLACE FUNCTION skein_mark_slots() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    mark record;
  BEGIN
    IF TG_OP = 'INSERT' THEN
      ${insert(`SELECT ${SLOT}, count(*) AS calls FROM written ${SHOWN} GROUP BY 1, 2`)}
    ELSIF TG_OP = 'DELETE' THEN
      ${insert(`SELECT ${SLOT}, -count(*) AS calls FROM replaced ${SHOWN} GROUP BY 1, 2`)}
    ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
      ${insert(`SELECT project_id, slot, sum(change) AS calls FROM (
          SELECT ${SLOT}, 1 AS change FROM written ${SHOWN} UNION ALL SELECT ${SLOT}, -1 FROM replaced ${SHOWN}) t
        GROUP BY 1, 2`)}
    END IF;
    RETURN NULL;
  END $$`;

interface Counted {
  table: string;
  /** SQL over a row; 0 when absent. */
  bytes?: string;
}

const COUNTED: readonly Counted[] = [
  { table: 'object_versions', bytes: 'size_bytes' },
  { table: 'table_rows', bytes: 'octet_length(val::text)' },
  { table: 'tables', bytes: 'octet_length(row_digests)' },
  { table: 'files', bytes: 'size_bytes' },
  { table: 'feedback', bytes: 'octet_length(payload::text)' },
  { table: 'costs' },
  { table: 'models' },
  { table: 'trajectory_batches', bytes: 'body_bytes' },
  { table: 'builds' },
  { table: 'build_chunks', bytes: 'octet_length(text)' },
];

const project = ({ table, bytes = '0' }: Counted, insert: Insert) => `
  CREATE OR REPLACE FUNCTION skein_mark_project_${table}() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    mark record;
  BEGIN
    IF TG_OP = 'INSERT' THEN
      ${insert(`SELECT project_id, count(*) AS rows, sum(${bytes}) AS bytes FROM written GROUP BY 1`)}
    ELSIF TG_OP = 'DELETE' THEN
      ${insert(`SELECT project_id, -count(*) AS rows, -sum(${bytes}) AS bytes FROM replaced GROUP BY 1`)}
    ELSE
      ${insert(`SELECT project_id, sum(n) AS rows, sum(size) AS bytes FROM (
          SELECT project_id, 1 AS n, ${bytes} AS size FROM written
          UNION ALL SELECT project_id, -1, -(${bytes}) FROM replaced) t
        GROUP BY 1`)}
    END IF;
    RETURN NULL;
  END $$`;
