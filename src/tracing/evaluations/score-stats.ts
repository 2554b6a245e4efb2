import { CODES, Cursor } from '../../platform/json/json-grammar.js';
import type { ScorerStatDto } from './eval-results.dto.js';
import { scoreValue } from './score-texts.js';

const { OPEN_BRACE } = CODES;

/** Levels of a score that is an object. */
const MAX_LEVELS = 32;

/** One boolean, number or text inside a score. */
export interface ScoreLeaf {
  scorer: string;
  path: string | null;
  value: boolean | number | string;
}

/**
 * Calls `see` for each boolean, number and text of the scores, until it returns false. `scores` is a result of
 * `scoreText`, in which texts are empty.
 */
export function eachLeaf(scores: string, see: (leaf: ScoreLeaf) => boolean): void {
  const members = new Cursor(scores, 0);
  if (members.first !== OPEN_BRACE) return;
  while (members.next())
    if (!eachBelow(members, { scorer: members.key!, path: null }, 0, see)) return;
}

function eachBelow(
  at: Cursor,
  { scorer, path }: Omit<ScoreLeaf, 'value'>,
  level: number,
  see: (leaf: ScoreLeaf) => boolean,
): boolean {
  if (at.first !== OPEN_BRACE) {
    const text = at.text.slice(at.at, at.skip());
    return see({ scorer, path, value: scoreValue(text) });
  }
  if (level >= MAX_LEVELS) at.skip();
  else {
    const members = at.inside();
    while (members.next()) {
      const below = path === null ? members.key! : `${path}.${members.key}`;
      if (!eachBelow(members, { scorer, path: below }, level + 1, see)) return false;
    }
    at.at = members.at;
  }
  return true;
}

export class LeafMap<T> {
  private readonly scorers = new Map<string, Map<string | null, T>>();
  private readonly all: T[] = [];

  get count(): number {
    return this.all.length;
  }

  get({ scorer, path }: ScoreLeaf): T | undefined {
    return this.scorers.get(scorer)?.get(path);
  }

  set({ scorer, path }: ScoreLeaf, value: T): T {
    let paths = this.scorers.get(scorer);
    if (!paths) this.scorers.set(scorer, (paths = new Map()));
    paths.set(path, value);
    this.all.push(value);
    return value;
  }

  values(): readonly T[] {
    return this.all;
  }
}

const VALUE_TYPES = { boolean: 'binary', number: 'continuous', string: 'text' } as const;

/** Computes statistics of each score of an evaluation. A score that changes its type keeps the first type. */
export class ScoreStats {
  private readonly stats = new LeafMap<ScorerStatDto & { sum: number }>();

  get count(): number {
    return this.stats.count;
  }

  /**
   * Adds the scores of a trial. Keeps `most` different scores and one more, which reveals that the limit is exceeded.
   */
  add(scores: string, most = Infinity): void {
    eachLeaf(scores, (leaf) => {
      if (this.count > most) return false;
      const stat = this.found(leaf);
      stat.trial_count++;
      if (typeof leaf.value === 'number') {
        stat.numeric_count++;
        stat.sum += leaf.value;
      } else if (typeof leaf.value === 'boolean') {
        stat.pass_known_count++;
        if (leaf.value) stat.pass_true_count++;
      }
      return true;
    });
  }

  private found(leaf: ScoreLeaf) {
    return (
      this.stats.get(leaf) ??
      this.stats.set(leaf, {
        scorer_key: leaf.scorer,
        path: leaf.path,
        value_type: VALUE_TYPES[typeof leaf.value as keyof typeof VALUE_TYPES],
        trial_count: 0,
        numeric_count: 0,
        numeric_mean: null,
        pass_true_count: 0,
        pass_known_count: 0,
        pass_rate: null,
        pass_signal_coverage: null,
        sum: 0,
      })
    );
  }

  take(): ScorerStatDto[] {
    return this.stats.values().map(({ sum, ...stat }) => ({
      ...stat,
      numeric_mean: stat.numeric_count > 0 ? sum / stat.numeric_count : null,
      pass_rate: stat.pass_known_count > 0 ? stat.pass_true_count / stat.pass_known_count : null,
      pass_signal_coverage: stat.trial_count > 0 ? stat.pass_known_count / stat.trial_count : null,
    }));
  }
}
