import pg from 'pg';

/** A part of a schema that a build may use. */
interface Part {
  /** Such as `column calls.id` or `function skein_time(text)`. */
  name: string;
  /** The table to which the part belongs, if any. */
  of: string | null;
  definition: string;
  /** True for a column that each inserted row must name, and for a rule that refuses rows. */
  demands: boolean;
}

export type Schema = Map<string, Part>;

const PARTS = `
  WITH own AS (SELECT oid, relname, relkind FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relname NOT IN ('migrations', 'sql_files'))
  SELECT 'column ' || relname || '.' || attname AS name, relname AS of,
    format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END AS definition,
    attnotnull AND attidentity = '' AND NOT atthasdef AS demands
  FROM own JOIN pg_attribute ON attrelid = own.oid WHERE relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped
  UNION ALL SELECT 'constraint ' || relname || '.' || conname, relname, pg_get_constraintdef(c.oid), true
  FROM own JOIN pg_constraint c ON conrelid = own.oid WHERE contype IN ('p', 'u', 'c', 'f', 'x')
  UNION ALL SELECT 'unique index ' || own.relname || '.' || i.relname, own.relname, pg_get_indexdef(indexrelid), true
  FROM own JOIN pg_index ON indrelid = own.oid JOIN pg_class i ON i.oid = indexrelid WHERE indisunique
  UNION ALL SELECT 'trigger ' || relname || '.' || tgname, relname, pg_get_triggerdef(t.oid), false
  FROM own JOIN pg_trigger t ON tgrelid = own.oid WHERE NOT tgisinternal
  UNION ALL SELECT 'function ' || oid::regprocedure, NULL, pg_get_functiondef(oid), false
  FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  UNION ALL SELECT 'value ' || enumtypid::regtype || '.' || enumlabel, NULL, '', false FROM pg_enum`;

export async function schemaParts(client: pg.Client): Promise<Schema> {
  const { rows } = await client.query<Part>(PARTS);
  return new Map(rows.map((row) => [row.name, row]));
}

/** Returns what a build that knows `before` may stumble over in `after`: the names of the parts, with what happened. */
export function contractions(before: Schema, after: Schema): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, definition, demands } of before.values()) {
    const now = after.get(name);
    if (!now) found[name] = 'is gone';
    else if (now.definition !== definition || (now.demands && !demands))
      found[name] = 'has changed';
  }
  const tables = new Set([...before.values()].map(({ of }) => of));
  for (const { name, of, demands } of after.values())
    if (demands && tables.has(of) && !before.has(name)) found[name] = 'is a new demand';
  return found;
}
