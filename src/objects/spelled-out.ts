import type { Database } from '../database/database.js';
import { sql } from '../query/sql.js';
import { versionWord } from './version-word.js';

/**
 * Words for versions, each of the object of the name beside it, with `v<n>` in place of aliases; one that means nothing stays. A
 * statement of its own: joined to the versions, its aliases would be too few for the planner to use the index of all three columns.
 */
export async function spelledOut(
  database: Database,
  projectId: string,
  names: readonly string[],
  words: readonly string[],
): Promise<string[]> {
  const isAlias = words.map(
    (word) => typeof versionWord(word) === 'object' && 'alias' in (versionWord(word) as object),
  );
  if (!isAlias.includes(true)) return [...words];
  const rows = await database.query<{
    object_id: string;
    alias: string;
    version_index: number;
  }>(sql`
    SELECT a.object_id, a.alias, a.version_index
    FROM unnest(${names.filter((_, i) => isAlias[i])}::text[], ${words.filter((_, i) => isAlias[i])}::text[]) AS r (object_id, alias)
    JOIN object_aliases a ON a.project_id = ${projectId} AND a.object_id = r.object_id AND a.alias = r.alias`);
  const indexes = new Map(rows.map((row) => [`${row.object_id}:${row.alias}`, row.version_index]));
  return words.map((word, i) => {
    const index = indexes.get(`${names[i]!}:${word}`);
    return index === undefined ? word : `v${index}`;
  });
}
