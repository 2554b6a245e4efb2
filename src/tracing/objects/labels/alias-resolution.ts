import type { Database } from '../../../platform/database/database.js';
import { aliasedVersions } from './labels.query.js';
import { versionSelector } from '../version-selector.js';

/**
 * Replaces aliases by `v<n>`. Each word selects a version of the object in `names` at its index; an unknown word is
 * unchanged. This is a separate statement: in a join with the versions, the planner would expect few aliases and not
 * use the index of all three columns.
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
