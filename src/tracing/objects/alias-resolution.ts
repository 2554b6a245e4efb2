import type { Database } from '../../platform/database/database.js';
import { aliasedVersions } from './labels.query.js';
import { versionSelector } from './version-selector.js';

/**
 * Words for versions, each of the object of the name beside it, with `v<n>` in place of aliases; an unknown word
 * stays. A statement of its own: joined to the versions, its aliases would be too few for the planner to use the index
 * of all three columns.
 */
export async function resolveAliases(
  database: Database,
  projectId: string,
  names: readonly string[],
  words: readonly string[],
): Promise<string[]> {
  const pairs = words.map((word, i) => ({ name: names[i]!, word }));
  const aliases = pairs.filter(({ word }) => {
    const means = versionSelector(word);
    return typeof means === 'object' && 'alias' in means;
  });
  if (aliases.length === 0) return [...words];
  const rows = await database.query(aliasedVersions(projectId, aliases));
  const indexes = new Map(rows.map((row) => [`${row.object_id}:${row.alias}`, row.version_index]));
  return pairs.map(({ name, word }) => {
    const index = indexes.get(`${name}:${word}`);
    return index === undefined ? word : `v${index}`;
  });
}
