import { createHash } from 'node:crypto';

/** Groups of rows. Groups with a common row stay together, with all their rows. */
export type RowGroups = readonly { row_digest: string; group: string }[];

/**
 * Returns the name of the unit that each row stays in. A row without a group is a unit, named by its digest. Groups
 * that share rows form one unit, named by the first group in code point order.
 */
export function rowUnits(digests: readonly string[], groups: RowGroups): string[] {
  const parents = new Map<string, string>();
  const root = (name: string): string => {
    let found = name;
    for (let next = parents.get(found); next !== undefined; next = parents.get(found)) found = next;
    for (let at = name; at !== found;) {
      const next = parents.get(at)!;
      parents.set(at, found);
      at = next;
    }
    return found;
  };
  const first = new Map<string, string>();
  for (const { row_digest, group } of groups) {
    const known = first.get(row_digest);
    if (known === undefined) {
      first.set(row_digest, group);
      continue;
    }
    const [a, b] = [root(known), root(group)];
    if (a !== b) parents.set(a < b ? b : a, a < b ? a : b);
  }
  return digests.map((digest) => {
    const group = first.get(digest);
    return group === undefined ? `row ${digest}` : `group ${root(group)}`;
  });
}

/**
 * Returns the index of the part that a unit belongs to. It depends only on the seed and the unit's name, so units keep
 * their part when others are added. The sizes of parts approximate the fractions.
 */
export function partIndex(unit: string, seed: string, fractions: readonly number[]): number {
  const hash = createHash('sha256').update(`${seed}\n${unit}`).digest();
  const at = hash.readUIntBE(0, 6) / 2 ** 48;
  let end = 0;
  const found = fractions.findIndex((fraction) => at < (end += fraction));
  return found < 0 ? fractions.length - 1 : found;
}
