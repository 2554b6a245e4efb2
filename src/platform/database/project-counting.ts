import { type CountRule, type EntityInfo, projectTables } from './project-table.js';

const TRANSITION = {
  INSERT: 'REFERENCING NEW TABLE AS written',
  UPDATE: 'REFERENCING OLD TABLE AS replaced NEW TABLE AS written',
  DELETE: 'REFERENCING OLD TABLE AS replaced',
};

/**
 * Returns the SQL of the functions and triggers that count the rows and bytes of projects, for `/projects/query`. Each
 * statement adds a row to `project_marks` for each project whose rows it changes (docs/adr/0033-projects.md). Calls are
 * counted with their statistics. In triggers Citus accepts only inserts of single rows, hence the loops.
 */
export function countingSql(entities: readonly EntityInfo[]): string {
  const tables = projectTables(entities);
  const marks = tables.find(({ facts }) => facts.rows === 'count marks')!.entity.tableName;
  return tables
    .flatMap(({ entity: { tableName }, facts }) =>
      facts.rows === 'data' && facts.counted
        ? [countingTrigger(tableName, facts.counted, marks)]
        : [],
    )
    .join('\n');
}

function countingTrigger(
  table: string,
  { bytes = '0', isEdited }: CountRule,
  marks: string,
): string {
  const name = `skein_mark_project_${table}`;
  const insert = (select: string) => `FOR mark IN ${select} LOOP
      INSERT INTO ${marks} (project_id, row_count, call_count, bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes);
    END LOOP;`;
  const sums = (sign: string, of: string) =>
    `SELECT project_id, ${sign}count(*) AS rows, ${sign}sum(${bytes}) AS bytes FROM ${of} GROUP BY 1`;
  const edits = `
  ELSE
    ${insert(`SELECT project_id, sum(n) AS rows, sum(size) AS bytes FROM (
        SELECT project_id, 1 AS n, ${bytes} AS size FROM written
        UNION ALL SELECT project_id, -1, -(${bytes}) FROM replaced) t
      GROUP BY 1`)}`;
  const events = isEdited
    ? (['INSERT', 'UPDATE', 'DELETE'] as const)
    : (['INSERT', 'DELETE'] as const);
  const triggers = events.map(
    (
      event,
    ) => `CREATE OR REPLACE TRIGGER ${table}_mark_project_${event.toLowerCase()} AFTER ${event} ON ${table}
${TRANSITION[event]} FOR EACH STATEMENT EXECUTE FUNCTION ${name}();
`,
  );
  return `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    ${insert(sums('', 'written'))}
  ELSIF TG_OP = 'DELETE' THEN
    ${insert(sums('-', 'replaced'))}${isEdited ? edits : ''}
  END IF;
  RETURN NULL;
END
$$;
${triggers.join('')}`;
}
