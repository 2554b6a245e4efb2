import { Decimal } from '../../platform/json/decimal.js';
import { byCodePoint } from '../../platform/json/by-code-point.js';
import type { CostsService, Priceable } from '../costs/costs.service.js';

/** A trial as `scanQuery` answers it; what was not asked for is absent. */
export type ScannedTrial = [
  trial: [
    id: string,
    rootId: string,
    digest: string,
    startedAt: number,
    scores?: Record<string, unknown> | null,
    late?: Record<string, unknown> | null,
    spent?: Priceable | null,
    latency?: number | null,
    judges?: Priceable[] | null,
  ],
  hits?: boolean[],
  keys?: (string | null)[],
];

/** What one prediction gave. */
export interface Trial {
  id: string;
  startedAt: number;
  scores: Record<string, unknown>;
  latency: number | null;
  tokens: number | null;
  cost: Decimal | null;
  judgeCost: Decimal | null;
  hits: readonly boolean[];
  keys: readonly (string | null)[];
}

/** A row of a dataset, with its trials by evaluation, in the order of the calls. */
export interface TrialRow {
  digest: string;
  trials: Map<string, Trial[]>;
}

/** Tokens of calls, null where nothing was counted. */
export function countedTokens(costs: CostsService, calls: readonly Priceable[]): number | null {
  let tokens = null as number | null;
  for (const call of calls)
    for (const model of costs.usage(call).values())
      tokens = (tokens ?? 0) + Object.values(model.tokens).reduce((a, b) => a + b, 0);
  return tokens;
}

/** Dollars of calls, null where nothing was counted or a price is unknown. */
export function spentDollars(costs: CostsService, calls: readonly Priceable[]): Decimal | null {
  let dollars = null as Decimal | null;
  for (const call of calls)
    for (const model of costs.usage(call).values())
      for (const part of Object.values(costs.spending(model, call).costs)) {
        if (!part) return null;
        dollars = dollars?.plus(part) ?? part;
      }
  return dollars;
}

const NONE: never[] = [];

export function scannedTrial(
  [trial, hits = NONE, keys = NONE]: ScannedTrial,
  costs: CostsService,
  hasCosts: boolean,
): Trial {
  const [id, , , startedAt, scores, late, spent, latency = null, judges] = trial;
  const calls = spent ? [spent] : NONE;
  return {
    id,
    startedAt,
    scores: late ? { ...scores, ...late } : (scores ?? {}),
    latency,
    tokens: countedTokens(costs, calls),
    cost: hasCosts ? spentDollars(costs, calls) : null,
    judgeCost: judges ? spentDollars(costs, judges) : null,
    hits,
    keys,
  };
}

const inCallOrder = (a: Trial, b: Trial) => a.startedAt - b.startedAt || byCodePoint(a.id, b.id);

/** Rows by their digests. */
export class TrialRows {
  private readonly byDigest = new Map<string, TrialRow>();

  add(digest: string, rootId: string, trial: Trial): void {
    let row = this.byDigest.get(digest);
    if (!row) this.byDigest.set(digest, (row = { digest, trials: new Map() }));
    const trials = row.trials.get(rootId);
    if (trials) trials.push(trial);
    else row.trials.set(rootId, [trial]);
  }

  /** The rows, the smallest digest first. */
  take(): TrialRow[] {
    for (const { trials } of this.byDigest.values())
      for (const list of trials.values()) if (list.length > 1) list.sort(inCallOrder);
    return [...this.byDigest.values()].toSorted((a, b) => byCodePoint(a.digest, b.digest));
  }
}

/** Rows that each of the evaluations has. */
export const rowsInAll = (rows: readonly TrialRow[], rootIds: readonly string[]) =>
  rows.filter(({ trials }) => rootIds.every((id) => trials.has(id)));
