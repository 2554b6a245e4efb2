import { createHash } from 'node:crypto';
import { compareCodePoints } from '../../../platform/json/code-point-order.js';
import type { Split } from './groups.js';
import type { RecipeSplitDto } from '../recipe/recipe.dto.js';

/** Values that keep units on one side: the group, and the thread or the user that the recipe splits by. */
export interface SplitUnit {
  key: string;
  /** Null when the unit has no thread or user, or the recipe splits by groups alone. */
  side: string | null;
}

/**
 * Chooses the side of each group key by the hash of salt and key. Groups with units of the same thread or user are
 * joined, and the first key of the joined groups decides for all.
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

/** Depends on salt and key only, so a group never changes its side. */
function chooseSplit(key: string, { salt, eval_percent }: RecipeSplitDto): Split {
  const hash = createHash('sha256').update(`${salt}\0${key}`).digest();
  return hash.readUInt32BE(0) < (eval_percent / 100) * 2 ** 32 ? 'eval' : 'train';
}

/**
 * Disjoint sets of keys, each named by its first key in code point order. Path halving makes all joins together take
 * nearly linear time.
 */
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
