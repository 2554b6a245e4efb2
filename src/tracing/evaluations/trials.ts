import { Decimal } from '../../platform/json/decimal.js';
import { sortYielding } from '../../platform/time/yielding-sort.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { compareCodePoints } from '../../platform/json/code-point-order.js';
import { countedUsage, type Priceable, spendingOn } from '../pricing/price.js';

/** A trial as `scanQuery` returns it. Values that were not requested are absent. */
export type ScannedTrial = [
  trial: [
    id: string,
    rootId: string,
    digest: string,
    startedAt: number,
    scores?: Record<string, unknown> | null,
    /** True when they exceed the limits. */
    late?: Record<string, unknown> | true | null,
    spent?: Priceable | null,
    latency?: number | null,
    judges?: Priceable[] | null,
  ],
  hits?: boolean[],
  keys?: (string | null)[],
];

/**
 * Kept trials as `scanQuery` returns them. Each list has one element per trial; lists that were not requested are null.
 */
export type KeptChunk = [
  runId: string,
  ids: string[],
  digests: string[],
  numbers: [startedAts: number[], latencies: (number | null)[], tokens: (number | null)[]],
  scores: [own: Scores[], late: Scores[]] | null,
  spent: [predictions: (Priceable | null)[], judges: (Priceable[] | null)[]] | null,
  hits?: boolean[][] | null,
  keys?: (string | null)[][] | null,
];
type Scores = Record<string, unknown> | null;

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

/** A row of a dataset, with its trials keyed by evaluation, in the order of the calls. */
export interface TrialRow {
  digest: string;
  trials: Map<string, Trial[]>;
}

/** Returns the tokens of calls, or null when nothing was counted. */
export function countedTokens(calls: readonly Priceable[]): number | null {
  let tokens = null as number | null;
  for (const call of calls)
    for (const model of countedUsage(call).values())
      tokens = (tokens ?? 0) + Object.values(model.tokens).reduce((a, b) => a + b, 0);
  return tokens;
}

/** Returns the dollars of calls, or null when nothing was counted or a price is unknown. */
export function spentDollars(calls: readonly Priceable[]): Decimal | null {
  let dollars = null as Decimal | null;
  for (const call of calls)
    for (const model of countedUsage(call).values())
      for (const part of Object.values(spendingOn(model, call).costs)) {
        if (!part) return null;
        dollars = dollars?.plus(part) ?? part;
      }
  return dollars;
}

const NONE: never[] = [];
const NO_LISTS: [never[], never[]] = [NONE, NONE];

export function scannedTrial(
  [trial, hits = NONE, keys = NONE]: ScannedTrial,
  hasCosts: boolean,
): Trial {
  const [id, , , startedAt, scores, late, spent, latency = null, judges] = trial;
  const calls = spent ? [spent] : NONE;
  return {
    id,
    startedAt,
    scores: joinedScores(scores, late === true ? null : late),
    latency,
    tokens: countedTokens(calls),
    cost: hasCosts ? spentDollars(calls) : null,
    judgeCost: judges ? spentDollars(judges) : null,
    hits,
    keys,
  };
}

/** Adds the trials of a chunk. Without children, scores that only scorers' calls contain are left out. */
export function addKeptChunk(
  rows: Pick<TrialRows, 'add'>,
  [rootId, ids, digests, [startedAts, latencies, tokens], scores, spent, hits, keys]: KeptChunk,
  { hasChildren, hasUsage }: { hasChildren: boolean; hasUsage: boolean },
): void {
  const [own, late] = scores ?? NO_LISTS;
  const [predictions, judges] = spent ?? NO_LISTS;
  const [allHits, allKeys] = [hits ?? NONE, keys ?? NONE];
  for (const [i, digest] of digests.entries()) {
    const prediction = predictions[i];
    rows.add(digest, rootId, {
      id: ids[i]!,
      startedAt: startedAts[i]!,
      scores: joinedScores(own[i], hasChildren ? late[i] : null),
      latency: latencies[i]!,
      tokens: hasUsage ? tokens[i]! : null,
      cost: prediction ? spentDollars([prediction]) : null,
      judgeCost: spentDollars(judges[i] ?? NONE),
      hits: allHits[i] ?? NONE,
      keys: allKeys[i] ?? NONE,
    });
  }
}

const joinedScores = (own: Scores | undefined, late: Scores | undefined) =>
  late ? { ...own, ...late } : (own ?? {});

const inCallOrder = (a: Trial, b: Trial) =>
  a.startedAt - b.startedAt || compareCodePoints(a.id, b.id);

/** Trials of a row above which sorting yields to the event loop. */
const MANY = 1000;

export class TrialRows {
  private readonly byDigest = new Map<string, TrialRow>();
  trials = 0;

  add(digest: string, rootId: string, trial: Trial): void {
    this.trials++;
    let row = this.byDigest.get(digest);
    if (!row) this.byDigest.set(digest, (row = { digest, trials: new Map() }));
    const trials = row.trials.get(rootId);
    if (trials) trials.push(trial);
    else row.trials.set(rootId, [trial]);
  }

  /** Returns the rows, ordered by digest. */
  async take(): Promise<TrialRow[]> {
    const turn = new EventLoopTurn();
    for (const { trials } of this.byDigest.values())
      for (const [id, list] of trials)
        if (list.length > MANY) trials.set(id, await sortYielding(list, inCallOrder, turn));
        else if (list.length > 1) list.sort(inCallOrder);
    const rows = [...this.byDigest.values()];
    return sortYielding(rows, (a, b) => compareCodePoints(a.digest, b.digest), turn);
  }
}

/** Returns the rows that all the evaluations have. */
export const rowsInAll = (rows: readonly TrialRow[], rootIds: readonly string[]) =>
  rows.filter(({ trials }) => rootIds.every((id) => trials.has(id)));
