import { parseBounded } from '../../../platform/json/json-weight.js';
import type { Recipe, RewardTerm } from '../recipe/recipe.js';

/** A piece of feedback on a unit: the value at the path of each term of its type, as JSON text. */
export interface UnitFeedback {
  id: string;
  /** Id of the call that the feedback is on. */
  call: string;
  /** SHA-256 of the type, the ref and the payload, in hex. */
  sha256: string;
  /** Values in the order of the terms. Null when the term has another type, or the path has no value. */
  values: (string | null)[];
}

export type ParsedUnitFeedback = Omit<UnitFeedback, 'values'> & { values: unknown[] };

/** Parses the values once for all choices. */
export const parseUnitFeedback = (said: readonly UnitFeedback[]): ParsedUnitFeedback[] =>
  said.map(({ values, ...one }) => ({
    ...one,
    values: values.map((json) => (json === null ? null : parseValue(json))),
  }));

/** A value that takes far more memory than its text is read as an empty object, which is no reward either. */
function parseValue(json: string): unknown {
  try {
    return parseBounded(json);
  } catch {
    return {};
  }
}

export interface Reward {
  /** Null when the unit waits for feedback. NaN when a value is not a number. */
  total: number | null;
  metrics: Record<string, number>;
  /** True when earlier feedback for the same term has another value. */
  isInConflict: boolean;
  used: Pick<UnitFeedback, 'id' | 'sha256'>[];
}

/**
 * Computes the reward of a choice of a unit: the weighted sum of the terms. `said` is ordered from the latest on. A
 * list at a path contains one value for each choice of the call.
 */
export function computeReward(
  { terms, exception }: Pick<Recipe['reward'], 'terms' | 'exception'>,
  said: readonly ParsedUnitFeedback[],
  { hasFailed, choice }: { hasFailed: boolean; choice: number },
): Reward {
  const reward: Reward = { total: 0, metrics: {}, isInConflict: false, used: [] };
  const used = new Map<string, Pick<UnitFeedback, 'id' | 'sha256'>>();
  for (const [i, term] of terms.entries()) {
    const known = termValues(term, i, said, choice);
    const counted = term.take === 'last' ? known.slice(0, 1) : known;
    for (const { said: one } of counted) used.set(one.id, { id: one.id, sha256: one.sha256 });
    const values = known.map((one) => one.value);
    if (term.take === 'last')
      reward.isInConflict ||= values.some((value) => !Object.is(value, values[0]));
    const value = values.length > 0 ? AGGREGATES[term.take](values) : term.missing;
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

const sumValues = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** Aggregates of values. The latest value comes first. */
const AGGREGATES: Record<RewardTerm['take'], (values: readonly number[]) => number> = {
  last: ([latest]) => latest!,
  sum: sumValues,
  mean: (values) => sumValues(values) / values.length,
  max: (values) => Math.max(...values),
};

function termValues(
  term: RewardTerm,
  index: number,
  said: readonly ParsedUnitFeedback[],
  choice: number,
) {
  return said.flatMap((one) => {
    const value = feedbackWorth(term, one.values[index], choice);
    return value === null ? [] : [{ said: one, value }];
  });
}

/**
 * Returns null when the value is missing or `map` does not contain it. Returns NaN when it should be a number and is
 * not.
 */
function feedbackWorth({ map, scale }: RewardTerm, given: unknown, choice: number): number | null {
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
