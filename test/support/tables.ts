import type { TestApp } from './app.js';

/** The tables that contain a text in any column. Byte columns are searched too. */
export async function tablesHolding(app: TestApp, text: string): Promise<string[]> {
  const tables = await app.query<{ name: string; bytes: string[] | null }>(`
    SELECT table_name AS name,
      array_agg(column_name::text) FILTER (WHERE data_type = 'bytea') AS bytes
    FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name IN (SELECT relname FROM pg_class WHERE relkind = 'r')
    GROUP BY table_name ORDER BY table_name`);
  const found: string[] = [];
  for (const { name, bytes } of tables) {
    const conditions = [
      `strpos(t::text, $1) > 0`,
      ...(bytes ?? []).map((column) => `position(convert_to($1, 'UTF8') IN t."${column}") > 0`),
    ];
    const rows = await app.query(
      `SELECT 1 FROM "${name}" t WHERE ${conditions.join(' OR ')} LIMIT 1`,
      [text],
    );
    if (rows.length > 0) found.push(name);
  }
  return found;
}
