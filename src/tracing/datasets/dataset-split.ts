import { createHash } from 'node:crypto';

/** Rows by what they belong to. A row may belong to several groups, which then stay together, with all of their rows. */
export type RowGroups = readonly { row_digest: string; group: string }[];

/**
 * The name of what each row stays together with. Those of rows without a group are their digests. Of groups that rows tie together
 * the name is the first by code point.
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
 * The place of the part that a unit goes to. It depends on the seed and on the name only, so that units stay where they are when
 * others come, and the parts have about the sizes that were asked for.
 */
export function partIndex(unit: string, seed: string, fractions: readonly number[]): number {
  const hash = createHash('sha256').update(`${seed}\n${unit}`).digest();
  const at = hash.readUIntBE(0, 6) / 2 ** 48;
  let end = 0;
  const found = fractions.findIndex((fraction) => at < (end += fraction));
  return found < 0 ? fractions.length - 1 : found;
}
