import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import type { Context } from '../../platform/http/context.js';
import { Decimal, printed } from '../../platform/json/decimal.js';
import { elementSpans, memberTexts, objectText } from '../../platform/json/json-text.js';
import { InvalidQuery, nameBytes, pathSteps } from '../../platform/query/columns.js';
import { Turn } from '../../platform/time/turn.js';
import { CostsService, type Priceable } from '../costs/costs.service.js';
import type { EvalResultsQueryDto } from './eval-results.dto.js';
import {
  datasetRowsQuery,
  detailsQuery,
  type EvaluationRoot,
  ROW_PATH,
  rootsQuery,
  type Scan,
  scanQuery,
} from './eval-results.query.js';
import { type FilterGroup, filteredRows, type RowSort, sortedRows } from './row-order.js';
import { ScoreStats } from './score-stats.js';
import {
  countedTokens,
  rowsInAll,
  type ScannedTrial,
  scannedTrial,
  spentDollars,
  type Trial,
  type TrialRow,
  TrialRows,
} from './trials.js';

/** Trials of all evaluations of a request. */
export const MAX_TRIALS = 100_000;
/** Different values of scores of an evaluation. */
export const MAX_LEAVES = 1000;
/** A trial takes about so much more memory than its text. */
const COPIES = 4;
/** Trials whose outputs are read for one piece of an answer. */
const DETAILS_AT_ONCE = 64;
/** Characters of these. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;

/** Pages of `/eval_results/query`: its rows as they are written, and what stands behind them. */
export interface ResultsPage {
  rows: Readable;
  members: () => string;
}

type Ask = Omit<Scan, 'projectId' | 'rootIds' | 'limit'>;

/**
 * Results over the calls that are stored. One pass reads scores, digests and usage of all trials, without outputs; what a page shows
 * beside these is read for the page only.
 */
@Injectable()
export class EvalResultsService {
  constructor(
    private readonly database: Database,
    private readonly costs: CostsService,
  ) {}

  /** The calls with these ids that are evaluations, by id. */
  async roots(projectId: string, ids: readonly string[]): Promise<Map<string, EvaluationRoot>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.query(rootsQuery(projectId, ids));
    return new Map(rows.map((row) => [row.id, row]));
  }

  async query(
    projectId: string,
    query: EvalResultsQueryDto,
    context: Context,
  ): Promise<ResultsPage> {
    const { evaluation_call_ids, evaluation_run_ids } = query;
    const ids = [...new Set([...(evaluation_call_ids ?? []), ...(evaluation_run_ids ?? [])])];
    const { sorts, fields } = rowSorts(query, ids.length > 1);
    const { groups, conditions } = filterGroups(query);
    const hasChildren = query.include_predict_and_score_children !== false;
    const hasCosts = query.include_costs === true;
    const hasSummary = query.include_summary === true;
    const asked: Ask = {
      hasScores: hasSummary || conditions.length > 0 || sorts.some(isOfScore),
      hasChildren,
      hasUsage: hasSummary && hasChildren,
      hasCosts,
      isCompared: false,
      conditions,
      fields,
    };
    const roots = await this.roots(projectId, ids);
    const known = ids.filter((id) => roots.has(id));
    const all = await this.scan(projectId, known, asked, context);
    const selected = query.require_intersection && ids.length > 1 ? rowsInAll(all, ids) : all;
    const found = filteredRows(selected, groups, query.filter_logic_operator === 'and');
    const offset = query.offset ?? 0;
    const page =
      query.include_rows === false
        ? []
        : sortedRows(found, sorts).slice(offset, offset + (query.limit ?? found.length));
    const isForAll = query.summary_require_intersection ?? query.require_intersection;
    const summary = hasSummary
      ? await summarize(isForAll && ids.length > 1 ? rowsInAll(all, ids) : all, known, roots)
      : undefined;
    const warnings = ids
      .filter((id) => !roots.has(id))
      .map((id) => `there is no evaluation call ${id}`);
    const shown = { projectId, ids: known, query, hasChildren, hasCosts };
    return {
      rows: Readable.from(this.rows(page, shown, warnings, this.database.key), {
        highWaterMark: 1,
      }),
      members: () =>
        [
          `"total_rows":${found.length}`,
          ...(summary ? [`"summary":${printed(summary)}`] : []),
          `"warnings":${JSON.stringify(warnings)}`,
        ].join(','),
    };
  }

  /** The rows of evaluations, the smallest digest first. @throws ApiError `too_large` */
  async scan(
    projectId: string,
    rootIds: readonly string[],
    asked: Ask,
    { hold }: Context,
  ): Promise<TrialRow[]> {
    const scan = { projectId, rootIds, ...asked, limit: MAX_TRIALS + 1 };
    const batches = await this.database.stream(scanQuery(scan));
    const rows = new TrialRows();
    const turn = new Turn();
    let count = 0;
    for await (const batch of batches as AsyncIterable<string[]>) {
      await hold.add(COPIES * batch.reduce((sum, text) => sum + text.length, 0));
      for (const text of batch) {
        if (++count > MAX_TRIALS)
          throw new ApiError(
            'too_large',
            `the evaluations have over ${MAX_TRIALS} trials: ask for fewer evaluations`,
          );
        if (turn.isOver) await turn.next();
        const trial = JSON.parse(text) as ScannedTrial;
        const [, rootId, digest] = trial[0];
        rows.add(digest, rootId, scannedTrial(trial, this.costs, asked.hasCosts));
      }
    }
    return rows.take();
  }

  /** Rows of a page as JSON texts. */
  private async *rows(
    page: readonly TrialRow[],
    shown: Shown,
    warnings: string[],
    key: () => string,
  ): AsyncGenerator<string[]> {
    const { query } = shown;
    let isUnresolved = false;
    for (const group of rowGroups(page)) {
      const { details, raws } = await this.database.runFor(key, async () => {
        const details = await this.details(group, shown);
        return { details, raws: await this.rawRows(group, shown, details) };
      });
      yield group.map((row) => {
        const raw = raws?.get(row.digest);
        if (raws && query.resolve_row_refs && raw?.isRef) isUnresolved = true;
        return rowText(row, shown, details, raws && (raw?.text ?? 'null'), this.costs);
      });
    }
    if (isUnresolved)
      warnings.push('some raw_data_row could not be resolved: they are the refs that were stored');
  }

  private async details(
    group: readonly TrialRow[],
    { projectId, hasChildren, hasCosts, query }: Shown,
  ): Promise<Map<string, string>> {
    const trialIds = group.flatMap(({ trials }) => [...trials.values()].flat().map(({ id }) => id));
    const hasRaw = query.include_raw_data_rows === true;
    const asked = { projectId, trialIds, hasChildren, hasCosts, hasRaw };
    const details = new Map<string, string>();
    let bytes = 0;
    const batches = await this.database.stream(detailsQuery(asked), { maxBatch: DETAILS_AT_ONCE });
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const text of batch) {
        bytes += text.length;
        if (bytes > MAX_ROW_BYTES)
          throw new ApiError(
            'too_large',
            `the trials of a row hold over ${MAX_ROW_BYTES} characters: ask for fewer evaluations`,
          );
        details.set(JSON.parse(memberTexts(text).get('id')!) as string, text);
      }
    return details;
  }

  /** What rows ran on, by digest: the example, or the dataset's row behind it. */
  private async rawRows(
    group: readonly TrialRow[],
    { projectId, query }: Shown,
    details: ReadonlyMap<string, string>,
  ): Promise<Map<string, { text: string; isRef: boolean }> | null> {
    if (!query.include_raw_data_rows) return null;
    const raws = new Map<string, { text: string; isRef: boolean }>();
    for (const { digest, trials } of group)
      for (const trial of [...trials.values()].flat()) {
        const text = memberTexts(details.get(trial.id) ?? '{}').get('raw');
        if (text === undefined || text === 'null') continue;
        raws.set(digest, { text, isRef: text.startsWith('"') && text.includes(ROW_PATH) });
        break;
      }
    const refs = [...raws].filter(([, { isRef }]) => isRef).map(([digest]) => digest);
    if (!query.resolve_row_refs || refs.length === 0) return raws;
    for (const { digest, val } of await this.database.query(datasetRowsQuery(projectId, refs)))
      raws.set(digest, { text: val, isRef: false });
    return raws;
  }
}

interface Shown {
  projectId: string;
  /** In the order asked for. */
  ids: readonly string[];
  query: EvalResultsQueryDto;
  hasChildren: boolean;
  hasCosts: boolean;
}

/** Rows of about `DETAILS_AT_ONCE` trials together. */
function* rowGroups(rows: readonly TrialRow[]): Generator<TrialRow[]> {
  let group: TrialRow[] = [];
  let trials = 0;
  for (const row of rows) {
    group.push(row);
    for (const list of row.trials.values()) trials += list.length;
    if (trials < DETAILS_AT_ONCE) continue;
    yield group;
    [group, trials] = [[], 0];
  }
  if (group.length > 0) yield group;
}

/** A call below a trial. */
interface Child {
  id: string;
  name: string;
  is_scorer: boolean;
  is_predict: boolean;
  latency: number | null;
  spent: Priceable | null;
  spans: unknown;
}

function rowText(
  row: TrialRow,
  { ids, hasChildren, hasCosts }: Shown,
  details: ReadonlyMap<string, string>,
  raw: string | null,
  costs: CostsService,
): string {
  const evaluations = ids
    .filter((id) => row.trials.has(id))
    .map((id) => {
      const trials = row.trials.get(id)!.flatMap((trial) => {
        const text = details.get(trial.id); // a call that was deleted meanwhile has none
        return text === undefined ? [] : trialText(trial, text, { hasChildren, hasCosts, costs });
      });
      return `{"evaluation_call_id":${JSON.stringify(id)},"trials":[${trials.join(',')}]}`;
    });
  const rawMember = raw === null ? '' : `"raw_data_row":${raw},`;
  return `{"row_digest":${JSON.stringify(row.digest)},${rawMember}"evaluations":[${evaluations.join(',')}]}`;
}

function trialText(
  trial: Trial,
  text: string,
  {
    hasChildren,
    hasCosts,
    costs,
  }: { hasChildren: boolean; hasCosts: boolean; costs: CostsService },
): string {
  const members = memberTexts(text);
  const childTexts = arrayElements(members.get('children')!);
  const children = childTexts.map((child) => JSON.parse(child) as Child);
  const predict = children.find(({ is_scorer, is_predict }) => !is_scorer && is_predict);
  const own = hasChildren ? predict?.spent : (JSON.parse(members.get('spent')!) as Priceable);
  const calls = own ? [own] : [];
  const scores = scoreTexts(members.get('scores')!, childTexts, children);
  const latency = predict?.latency ?? (JSON.parse(members.get('latency')!) as number | null);
  const spans = [predict?.spans, JSON.parse(members.get('spans')!)].find((one) => one);
  return `{${[
    ['predict_and_score_call_id', JSON.stringify(trial.id)],
    ['predict_call_id', JSON.stringify(predict?.id ?? null)],
    ['model_output', members.get('output')!],
    ['scores', objectText(scores)],
    ['model_latency_seconds', JSON.stringify(latency)],
    ['total_tokens', JSON.stringify(countedTokens(costs, calls))],
    ['total_cost', hasCosts ? printed(spentDollars(costs, calls)) : 'null'],
    ['scorer_call_ids', JSON.stringify(scorerCalls([...scores.keys()], children))],
    ...(spans ? [['genai_span_ref', JSON.stringify([spans].flat())]] : []),
  ]
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}}`;
}

const arrayElements = (array: string) => elementSpans(array, 0).map((span) => array.slice(...span));

/** Scores as they were stored: those of the trial, then what scorers gave beside it. */
function scoreTexts(
  stored: string,
  childTexts: readonly string[],
  children: readonly Child[],
): Map<string, string> {
  const texts = stored.startsWith('{') ? memberTexts(stored) : new Map<string, string>();
  for (const [i, { name, is_scorer }] of children.entries()) {
    const output = is_scorer && memberTexts(childTexts[i]!).get('output');
    if (output && output !== 'null') texts.set(name, output);
  }
  return texts;
}

/** The scorers' calls by the names of their scores; one name is part of the other. */
function scorerCalls(
  scores: readonly string[],
  children: readonly Child[],
): Record<string, string> {
  const scorers = children
    .filter(({ is_scorer }) => is_scorer)
    .map(({ id, name }) => ({ id, name: name.toLowerCase() }));
  const found = scores.flatMap((key): [string, string][] => {
    const wanted = key.toLowerCase();
    const scorer =
      scorers.findLast(({ name }) => name === wanted) ??
      scorers.findLast(({ name }) => name.includes(wanted) || wanted.includes(name));
    return scorer ? [[key, scorer.id]] : [];
  });
  return Object.fromEntries(found);
}

const isOfScore = ({ value }: RowSort) => typeof value === 'object' && 'score' in value;

function rowSorts(
  { sort_by }: EvalResultsQueryDto,
  areSeveral: boolean,
): {
  sorts: RowSort[];
  fields: { field: string; path: string }[];
} {
  const fields: { field: string; path: string }[] = [];
  const names = nameBytes();
  const sorts = (sort_by ?? []).map((sort, i): RowSort => {
    const { field, direction, evaluation_call_id, mode } = sort;
    const path = `sort_by[${i}].field`;
    const [first, ...score] = pathSteps(field, path, names);
    const isScore = first === 'scores' && score.length > 0;
    const isDifference = mode === 'difference';
    if (isDifference && !isScore)
      throw new InvalidQuery(`sort_by[${i}].mode`, 'must be value, unless the field is a score');
    const rest = {
      isDescending: direction === 'desc',
      rootId: evaluation_call_id ?? null,
      isDifference: isDifference && areSeveral && !evaluation_call_id,
    };
    if (isScore) return { ...rest, value: { score } };
    if (field === 'row_digest') return { ...rest, value: 'digest' };
    if (!['inputs', 'output', 'outputs'].includes(first!) || score.length === 0)
      throw new InvalidQuery(path, SORTABLE);
    return { ...rest, value: { key: fields.push({ field, path }) - 1 } };
  });
  return { sorts, fields };
}
const SORTABLE = 'must be scores.<name>[.<path>], inputs.<path>, output.<path> or row_digest';

function filterGroups({ filters }: EvalResultsQueryDto): {
  groups: FilterGroup[];
  conditions: Scan['conditions'];
} {
  const groups = new Map<string | null, number[]>();
  for (const [i, { evaluation_call_id }] of (filters ?? []).entries()) {
    const rootId = evaluation_call_id ?? null;
    groups.set(rootId, [...(groups.get(rootId) ?? []), i]);
  }
  return {
    groups: Array.from(groups, ([rootId, hits]) => ({ rootId, hits })),
    conditions: (filters ?? []).map(({ query }) => query),
  };
}

/** What evaluations that have rows say, in the order asked for. */
async function summarize(
  rows: readonly TrialRow[],
  ids: readonly string[],
  roots: ReadonlyMap<string, EvaluationRoot>,
) {
  const turn = new Turn();
  const evaluations = [];
  for (const id of ids) {
    const stats = new ScoreStats();
    let trial_count = 0;
    let tokens: number | null = null;
    let cost = null as Decimal | null;
    for (const { trials } of rows)
      for (const trial of trials.get(id) ?? []) {
        if (turn.isOver) await turn.next();
        trial_count++;
        stats.add(trial.scores);
        if (stats.count > MAX_LEAVES)
          throw new ApiError(
            'too_large',
            `the scores of ${id} have over ${MAX_LEAVES} different values: ask without include_summary`,
          );
        if (trial.tokens !== null) tokens = (tokens ?? 0) + trial.tokens;
        if (trial.cost) cost = cost?.plus(trial.cost) ?? trial.cost;
      }
    if (trial_count === 0) continue;
    const { evaluation_ref, model_ref, display_name, trace_id, started_at } = roots.get(id)!;
    evaluations.push({
      evaluation_call_id: id,
      trial_count,
      scorer_stats: stats.take(),
      predict_total_tokens: tokens,
      predict_total_cost: cost,
      evaluation_ref,
      model_ref,
      display_name,
      trace_id,
      started_at,
    });
  }
  return { row_count: rows.length, evaluations };
}
