import { isObject } from '../../platform/json/is-object.js';
import type { ScorerStatDto } from './eval-results.dto.js';

/** Levels of a score that is an object. */
const MAX_LEVELS = 32;

/** A value inside a score. */
export interface Leaf {
  scorer: string;
  path: string | null;
  value: boolean | number | string;
}

/** The values of scores that count: what is null or a list does not. */
export function* scoreLeaves(scores: Readonly<Record<string, unknown>>): Generator<Leaf> {
  for (const [scorer, value] of Object.entries(scores)) yield* leavesBelow(scorer, [], value);
}

function* leavesBelow(scorer: string, path: string[], value: unknown): Generator<Leaf> {
  if (isObject(value) && path.length < MAX_LEVELS)
    for (const [name, member] of Object.entries(value))
      yield* leavesBelow(scorer, [...path, name], member);
  else if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string')
    yield { scorer, path: path.length > 0 ? path.join('.') : null, value };
}

export const leafKey = ({ scorer, path }: Pick<Leaf, 'scorer' | 'path'>) =>
  JSON.stringify([scorer, path]);

/** A score as a number, booleans as 1 and 0; null for what is neither. */
export const scoreNumber = (value: unknown): number | null =>
  typeof value === 'boolean' ? Number(value) : typeof value === 'number' ? value : null;

const VALUE_TYPES = { boolean: 'binary', number: 'continuous', string: 'text' } as const;

/** What an evaluation's trials say of each value of their scores. A value that changes its type keeps the first one. */
export class ScoreStats {
  private readonly stats = new Map<string, ScorerStatDto & { sum: number }>();

  get count(): number {
    return this.stats.size;
  }

  /** Values beyond `most` different ones are left out, but for one, which tells that there are more. */
  add(scores: Readonly<Record<string, unknown>>, most = Infinity): void {
    for (const leaf of scoreLeaves(scores)) {
      if (this.count > most) return;
      const stat = this.found(leaf);
      stat.trial_count++;
      if (typeof leaf.value === 'number') {
        stat.numeric_count++;
        stat.sum += leaf.value;
      } else if (typeof leaf.value === 'boolean') {
        stat.pass_known_count++;
        if (leaf.value) stat.pass_true_count++;
      }
    }
  }

  private found(leaf: Leaf) {
    const key = leafKey(leaf);
    let stat = this.stats.get(key);
    if (!stat) {
      const value_type = VALUE_TYPES[typeof leaf.value as keyof typeof VALUE_TYPES];
      stat = {
        scorer_key: leaf.scorer,
        path: leaf.path,
        value_type,
        trial_count: 0,
        numeric_count: 0,
        numeric_mean: null,
        pass_true_count: 0,
        pass_known_count: 0,
        pass_rate: null,
        pass_signal_coverage: null,
        sum: 0,
      };
      this.stats.set(key, stat);
    }
    return stat;
  }

  take(): ScorerStatDto[] {
    return Array.from(this.stats.values(), ({ sum, ...stat }) => ({
      ...stat,
      numeric_mean: stat.numeric_count > 0 ? sum / stat.numeric_count : null,
      pass_rate: stat.pass_known_count > 0 ? stat.pass_true_count / stat.pass_known_count : null,
      pass_signal_coverage: stat.trial_count > 0 ? stat.pass_known_count / stat.trial_count : null,
    }));
  }
}
