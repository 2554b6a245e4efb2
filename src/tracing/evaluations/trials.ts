import { Decimal } from '../../platform/json/decimal.js';
import { byCodePoint } from '../../platform/json/by-code-point.js';
import type { CostsService, Priceable } from '../costs/costs.service.js';

/** A trial as `scanQuery` answers it. */
export type ScannedTrial = [
  id: string,
  rootId: string,
  digest: string,
  startedAt: number,
  scores: Record<string, unknown> | null,
  late: Record<string, unknown> | null,
  latency: number | null,
  spent: Priceable | null,
  judges: Priceable[] | null,
  hits: boolean[],
  keys: (string | null)[],
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

/** Tokens and dollars of calls: tokens are null where nothing was counted, dollars where a price is unknown. */
export function spending(costs: CostsService, calls: readonly Priceable[]) {
  let tokens: number | null = null;
  let cost: Decimal | null = Decimal.zero;
  for (const call of calls)
    for (const model of costs.usage(call).values()) {
      const spent = costs.spending(model, call);
      tokens = (tokens ?? 0) + Object.values(spent.tokens).reduce((a, b) => a + b, 0);
      for (const part of Object.values(spent.costs)) cost = part && cost ? cost.plus(part) : null;
    }
  return { tokens, cost: tokens === null ? null : cost };
}

export function scannedTrial(scanned: ScannedTrial, costs: CostsService): Trial {
  const [id, , , startedAt, scores, late, latency, spent, judges, hits, keys] = scanned;
  const { tokens, cost } = spending(costs, spent ? [spent] : []);
  return {
    id,
    startedAt,
    scores: late ? { ...scores, ...late } : (scores ?? {}),
    latency,
    tokens,
    cost,
    judgeCost: judges ? spending(costs, judges).cost : null,
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
