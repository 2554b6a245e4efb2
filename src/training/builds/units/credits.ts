import type { Recipe } from '../recipe/recipe.js';
import type { UnitFeedback } from './rewards.js';

/** Calls that are rewarded by the same feedback. */
export interface Credit {
  /** The call that the feedback is on; null when the feedback of all calls rewards all of them. */
  scored: string | null;
  calls: ReadonlySet<string>;
  said: UnitFeedback[];
}

/** Stands for calls outside the traces of the unit: the other turns of its thread. */
const THREAD = '';

/**
 * For each term, the call whose feedback counts; null when no call has any. A call without feedback has the same list
 * as its parent.
 */
type NearestCalls = readonly (string | null)[];

/**
 * Assigns feedback to calls of a model, as the recipe defines. Either the feedback of all calls rewards the whole
 * unit, or each term takes the feedback of the nearest call: the call itself or one above it. Visits each call of the
 * tree once.
 */
export function readCredits(
  calls: readonly string[],
  { parents, said }: { parents: ReadonlyMap<string, string | null>; said: UnitFeedback[] },
  { terms, credit, inherit }: Recipe['reward'],
): Credit[] {
  if (credit === 'unit' && inherit === null) return [{ scored: null, calls: new Set(calls), said }];
  const nearest = new NearestFeedback(parents, said, terms.length);
  const credits = new Map<NearestCalls, { calls: Set<string> }>();
  for (const call of calls) {
    const found = nearest.of(call);
    const known = credits.get(found) ?? { calls: new Set<string>() };
    credits.set(found, known);
    known.calls.add(call);
  }
  return Array.from(credits, ([found, known]) => ({
    scored: found.find((call) => call !== null && call !== THREAD) ?? null,
    calls: known.calls,
    said: said.flatMap((one) => {
      const on = parents.has(one.call) ? one.call : THREAD;
      const values = one.values.map((value, i) => (found[i] === on ? value : null));
      return values.some((value) => value !== null) ? [{ ...one, values }] : [];
    }),
  }));
}

class NearestFeedback {
  private readonly known = new Map<string, NearestCalls>();
  /** For each call with feedback, the indexes of the terms that have a value. */
  private readonly terms = new Map<string, Set<number>>();
  private readonly top: NearestCalls;

  constructor(
    private readonly parents: ReadonlyMap<string, string | null>,
    said: readonly UnitFeedback[],
    count: number,
  ) {
    for (const { call, values } of said) {
      const on = parents.has(call) ? call : THREAD;
      const terms = this.terms.get(on) ?? new Set();
      this.terms.set(on, terms);
      for (const [i, value] of values.entries()) if (value !== null) terms.add(i);
    }
    this.top = this.below(
      THREAD,
      Array.from({ length: count }, () => null),
    );
  }

  of(call: string): NearestCalls {
    const climbed: string[] = [];
    const seen = new Set<string>();
    let at: string | null | undefined = call;
    while (at && this.parents.has(at) && !this.known.has(at) && !seen.has(at)) {
      seen.add(at);
      climbed.push(at);
      at = this.parents.get(at);
    }
    let nearest = (at && this.known.get(at)) || this.top;
    for (const below of climbed.toReversed()) {
      nearest = this.below(below, nearest);
      this.known.set(below, nearest);
    }
    return nearest;
  }

  /** Returns the same list when the call has no feedback. */
  private below(call: string, above: NearestCalls): NearestCalls {
    const terms = this.terms.get(call);
    return terms && terms.size > 0 ? above.map((on, i) => (terms.has(i) ? call : on)) : above;
  }
}
