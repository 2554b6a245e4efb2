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
    .flatMap(({ entity: { tableName }, facts }) => {
      if (facts.rows !== 'data') return [];
      const { counted, written = counted?.bytes } = facts;
      return (counted ?? written) ? [countingTrigger(tableName, { counted, written }, marks)] : [];
    })
    .join('\n');
}

/** Rows that do not count are only counted as written. */
function countingTrigger(
  table: string,
  { counted, written = '0' }: { counted: CountRule | null; written: string | undefined },
  marks: string,
): string {
  const { bytes = '0', isEdited } = counted ?? {};
  const rows = counted ? 'count(*)' : '0';
  const name = `skein_mark_project_${table}`;
  const insert = (select: string) => `FOR mark IN ${select} LOOP
      INSERT INTO ${marks} (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;`;
  const added = `SELECT project_id, ${rows} AS rows, sum(${bytes}) AS bytes, sum(${written}) AS written_bytes
      FROM written GROUP BY 1`;
  const removed = `SELECT project_id, -count(*) AS rows, -sum(${bytes}) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1`;
  const edits = `
  ELSE
    ${insert(`SELECT project_id, sum(n) AS rows, sum(size) AS bytes, sum(added) AS written_bytes FROM (
        SELECT project_id, 1 AS n, ${bytes} AS size, ${written} AS added FROM written
        UNION ALL SELECT project_id, -1, -(${bytes}), 0 FROM replaced) t
      GROUP BY 1`)}`;
  const deletes = `
  ELSIF TG_OP = 'DELETE' THEN
    ${insert(removed)}`;
  const events: (keyof typeof TRANSITION)[] = ['INSERT'];
  if (counted) events.push('DELETE');
  if (isEdited) events.push('UPDATE');
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
    ${insert(added)}${counted ? deletes : ''}${isEdited ? edits : ''}
  END IF;
  RETURN NULL;
END
$$;
${triggers.join('')}`;
}
