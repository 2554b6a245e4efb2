import { createHash } from 'node:crypto';
import { compareCodePoints } from '../../platform/json/code-point-order.js';
import type { Split } from './groups.js';
import type { RecipeSplitDto } from './recipe.dto.js';

/** What keeps a unit on one side: its group, and the thread or the user that the recipe splits by. */
export interface SplitUnit {
  key: string;
  /** Null where there is none. */
  side: string | null;
}

/**
 * The side of each group key, by the hash of salt and key. Groups with units of the same thread or user stand on one side:
 * they are joined, and the first key of those that are joined decides.
 */
export function splitsByKey(
  units: readonly SplitUnit[],
  split: RecipeSplitDto,
): Map<string, Split> {
  const joined = new JoinedKeys();
  const sides = new Map<string, string>();
  for (const { key, side } of units) {
    const other = side === null ? key : (sides.get(side) ?? key);
    joined.join(key, other);
    if (side !== null) sides.set(side, key);
  }
  const keys = new Set(units.map(({ key }) => key));
  return new Map(Array.from(keys, (key) => [key, chooseSplit(joined.find(key), split)]));
}

/** By the hash of salt and key, so that a group never stands on both sides. */
function chooseSplit(key: string, { salt, eval_percent }: RecipeSplitDto): Split {
  const hash = createHash('sha256').update(`${salt}\0${key}`).digest();
  return hash.readUInt32BE(0) < (eval_percent / 100) * 2 ** 32 ? 'eval' : 'train';
}

/** Disjoint sets of keys, each named by its first key by code point. Paths are halved, so all joins take nearly linear time. */
class JoinedKeys {
  private readonly parents = new Map<string, string>();

  find(key: string): string {
    let at = key;
    for (let above = this.parents.get(at); above !== undefined; above = this.parents.get(at)) {
      const next = this.parents.get(above);
      if (next !== undefined) this.parents.set(at, next);
      at = next ?? above;
    }
    return at;
  }

  join(a: string, b: string): void {
    const [first, second] = [this.find(a), this.find(b)].toSorted(compareCodePoints) as [
      string,
      string,
    ];
    if (first !== second) this.parents.set(second, first);
  }
}
