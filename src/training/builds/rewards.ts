import type { Recipe, Term } from './recipe.js';

/** One piece of feedback on a unit: what stands at the path of each term of its type, as JSON text. */
export interface Said {
  id: string;
  /** SHA-256 of what was said, in hex. */
  sha256: string;
  /** In the order of the terms; null where the term is of another type, or there is no value. */
  values: (string | null)[];
}

/** The same with the values that the texts spell. */
export type ReadSaid = Omit<Said, 'values'> & { values: unknown[] };

/** Reads the texts once for all choices. */
export const readSaid = (said: readonly Said[]): ReadSaid[] =>
  said.map(({ values, ...one }) => ({
    ...one,
    values: values.map((json) => (json === null ? null : JSON.parse(json))),
  }));

/** What feedback makes of a unit. */
export interface Reward {
  /** Null when the unit has to wait for a label. NaN where a value is no number. */
  total: number | null;
  metrics: Record<string, number>;
  /** Earlier feedback of a type says something else. */
  isInConflict: boolean;
  /** The feedback that counted. */
  used: Pick<Said, 'id' | 'sha256'>[];
}

/**
 * The reward of a choice of a unit: the weighted sum of the terms, each worth what the latest feedback that it
 * understands says. `said` has the latest first. A list at a path has a value for each choice of the call.
 */
export function rewardOf(
  { terms, exception }: Recipe['reward'],
  said: readonly ReadSaid[],
  { hasFailed, choice }: { hasFailed: boolean; choice: number },
): Reward {
  const reward: Reward = { total: 0, metrics: {}, isInConflict: false, used: [] };
  const used = new Map<string, Pick<Said, 'id' | 'sha256'>>();
  for (const [i, term] of terms.entries()) {
    const known = valuesOf(term, i, said, choice);
    const [latest] = known;
    if (latest) used.set(latest.said.id, { id: latest.said.id, sha256: latest.said.sha256 });
    reward.isInConflict ||= known.some(({ value }) => !Object.is(value, latest!.value));
    const value = latest ? latest.value : term.missing;
    if (value === 'skip') reward.total = null;
    else {
      reward.metrics[term.metric] = value;
      if (reward.total !== null) reward.total += term.weight * value;
    }
  }
  if (hasFailed && exception !== 'skip') reward.total = exception;
  reward.used = [...used.values()];
  return reward;
}

/** The values of feedback that the term understands, the latest first. */
function valuesOf(term: Term, index: number, said: readonly ReadSaid[], choice: number) {
  return said.flatMap((one) => {
    const value = worth(term, one.values[index], choice);
    return value === null ? [] : [{ said: one, value }];
  });
}

/** Null when the term does not know the value, NaN when it should be a number and is not. */
function worth({ map, scale }: Term, given: unknown, choice: number): number | null {
  const value: unknown = Array.isArray(given) ? given[choice] : given;
  if (value === null || value === undefined) return null;
  if (map) {
    const name = typeof value === 'string' ? value : JSON.stringify(value);
    return Object.hasOwn(map, name) ? map[name]! : null;
  }
  const number = typeof value === 'boolean' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return NaN;
  if (!scale) return number;
  const [fromLow, fromHigh, toLow, toHigh] = scale;
  return toLow + ((number - fromLow) / (fromHigh - fromLow)) * (toHigh - toLow);
}
