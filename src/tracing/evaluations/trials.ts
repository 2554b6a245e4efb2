import { ApiError } from '../../platform/errors.js';
import type { DocumentReader } from '../../platform/http/document-reader.js';
import { Decimal } from '../../platform/json/decimal.js';
import { sortYielding } from '../../platform/time/yielding-sort.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { compareCodePoints } from '../../platform/json/code-point-order.js';
import { Cursor, UNLIMITED } from '../../platform/json/json-grammar.js';
import { elementTexts } from '../../platform/json/json-text.js';
import { joinedScores, scoreText } from './score-texts.js';
import { MAX_CHILDREN, MAX_SCORER_BYTES } from './trial-parts.query.js';
import { countedUsage, type Priceable, spendingOn } from '../pricing/price.js';

/** Values that a scan reads of trials. Without children, scores that only scorers' calls contain are left out. */
interface TrialValues {
  hasChildren: boolean;
  hasUsage: boolean;
  hasCosts: boolean;
}

export interface Trial {
  id: string;
  startedAt: number;
  /** A result of `scoreText`. */
  scores: string;
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

/** Memory of a trial without its texts. */
const TRIAL_BYTES = 512;

/**
 * Reads rows of `scanQuery`. Scores are cut out of the text, because parsing them would take far more memory.
 * @throws ApiError `too_large`, `unavailable`
 */
export class TrialReader {
  constructor(
    private readonly rows: Pick<TrialRows, 'add'>,
    private readonly documents: DocumentReader,
    private readonly asked: TrialValues,
  ) {}

  async read(text: string): Promise<void> {
    await this.documents.pass(2 * text.length);
    const cursor = new Cursor(text, 0);
    cursor.next();
    const isTrial = cursor.isContainer;
    await (isTrial ? this.trial(listTexts(text)) : this.chunk(elementTexts(text, UNLIMITED)));
  }

  private async trial([trial, hits, keys]: string[][]): Promise<void> {
    const [id, rootId, digest, startedAt, own, late, spent, latency, judges] = trial!;
    if (late === 'true') throw trialTooLarge(parsed<string>(id));
    const [prediction, judged] = await this.spending(spent, judges);
    const calls = prediction ? [prediction] : [];
    await this.add(parsed(digest), parsed(rootId), {
      id: parsed(id),
      startedAt: parsed(startedAt),
      scores: joinedScores(scoreText(own), scoreText(late)),
      latency: parsed(latency),
      tokens: countedTokens(calls),
      cost: this.asked.hasCosts ? spentDollars(calls) : null,
      judgeCost: judged ? spentDollars(judged) : null,
      hits: parsedAll(hits),
      keys: parsedAll(keys),
    });
  }

  /** Reads kept trials: a run and lists with one element per trial. A list that was not requested is null. */
  private async chunk(columns: string[]): Promise<void> {
    const [runId, ids, digests, numbers, scores, spent, hits, keys] = columns;
    const { hasChildren, hasUsage } = this.asked;
    const [startedAts, latencies, tokens] = parsed<(number | null)[][]>(numbers);
    const [own, late] = listTexts(scores).slice(0, hasChildren ? 2 : 1);
    const [predictions, judges] = listTexts(spent);
    const [allHits, allKeys] = [listTexts(hits), listTexts(keys)];
    const rootId = parsed<string>(runId);
    const allIds = parsed<string[]>(ids);
    for (const [i, digest] of parsed<string[]>(digests).entries()) {
      const [prediction, judged] = await this.spending(predictions?.[i], judges?.[i]);
      await this.add(digest, rootId, {
        id: allIds[i]!,
        startedAt: startedAts![i]!,
        scores: joinedScores(scoreText(own?.[i]), scoreText(late?.[i])),
        latency: latencies![i]!,
        tokens: hasUsage ? tokens![i]! : null,
        cost: prediction ? spentDollars([prediction]) : null,
        judgeCost: spentDollars(judged ?? []),
        hits: parsedAll(allHits[i]),
        keys: parsedAll(allKeys[i]),
      });
    }
  }

  /** Parses the usage of a prediction, and that of its judges. */
  private async spending(prediction?: string, judges?: string) {
    return [
      await this.documents.read<Priceable | null>(prediction ?? 'null'),
      await this.documents.read<Priceable[] | null>(judges ?? 'null'),
    ] as const;
  }

  private async add(digest: string, rootId: string, trial: Trial): Promise<void> {
    const keys = trial.keys.reduce((sum, key) => sum + (key?.length ?? 0), 0);
    await this.documents.reserve(TRIAL_BYTES + 2 * (trial.scores.length + keys));
    this.rows.add(digest, rootId, trial);
  }
}

/** Parses a value that the service has made: a number, a name, or a list of those. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the queries determine the types
const parsed = <T>(text = 'null') => JSON.parse(text) as T;

const parsedAll = <T>(texts: readonly string[] = []): T[] => texts.map((text) => parsed<T>(text));

/** Returns the texts of the elements of each list in a list. Both may be null, which has no elements. */
function listTexts(text = 'null'): string[][] {
  const lists: string[][] = [];
  const outer = new Cursor(text, 0);
  if (!outer.isContainer) return lists;
  while (outer.next()) {
    if (!outer.isContainer) {
      outer.skip();
      lists.push([]);
      continue;
    }
    const texts: string[] = [];
    const inner = outer.inside();
    while (inner.next()) texts.push(text.slice(inner.at, inner.skip(UNLIMITED)));
    outer.at = inner.at;
    lists.push(texts);
  }
  return lists;
}

export const trialTooLarge = (trialId: string) =>
  new ApiError(
    'too_large',
    `the trial ${trialId} has over ${MAX_CHILDREN} calls below it, or its scorers gave over ${MAX_SCORER_BYTES} bytes: ask without include_predict_and_score_children`,
  );

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
