import { queryOptions } from '@tanstack/react-query';
import { send } from '../api/client.ts';
import { formatJson } from '../json/json-format.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { decoded } from '../json/visible-text.ts';
import { type ComparedScore, scoreField } from './scores.ts';

export interface Trial {
  /** The call to open: that of the model, if it is known. */
  callId: string;
  output: string;
  /** The stored JSON text; empty without a score. */
  score: string;
  latencySeconds: number | null;
  tokens: number | null;
  cost: number | null;
}

export interface EvaluationRow {
  digest: string;
  inputs: string;
  trials: Map<string, Trial[]>;
}

export interface RowsPage {
  rows: EvaluationRow[];
  /** Number of rows on all pages. */
  total: number;
  /** The search for worse rows stopped at `MOST_LOOKED_AT`, so some may be missing. */
  isCut: boolean;
}

export interface RowsRequest {
  project: string;
  /** Ids of runs, the baseline first. */
  ids: readonly string[];
  score: ComparedScore | undefined;
  /** A lower score is better. */
  isLowGood: boolean;
  page: number;
  /** Only rows whose score is worse in this run than in the baseline. `count` is the service's number of them. */
  worse?: { id: string; count: number } | undefined;
}

export const ROWS = 20;
/** Rows of one request when only the worse ones are shown. */
const LOOKED_AT_ONCE = 100;
/** The most rows that are searched for worse ones. */
const MOST_LOOKED_AT = 5000;

/**
 * Reads a page of rows. Rows in which the runs differ most come first, and among equals those in which the last run is
 * worst.
 */
export const rowsQuery = (asked: RowsRequest) =>
  queryOptions({
    queryKey: ['evaluation rows', asked],
    queryFn: ({ signal }) => (asked.worse ? readWorse(asked, signal) : readPage(asked, signal)),
    structuralSharing: false,
    gcTime: 60_000,
  });

async function readPage(asked: RowsRequest, signal: AbortSignal): Promise<RowsPage> {
  const { rows, total } = await readRows(asked, ROWS, (asked.page - 1) * ROWS, signal);
  return { rows, total, isCut: false };
}

/**
 * Reads on until a page of worse rows is full. The service orders rows by the size of the difference only, whether
 * better or worse.
 */
async function readWorse(asked: RowsRequest, signal: AbortSignal): Promise<RowsPage> {
  const { ids, page, worse, isLowGood } = asked;
  const { id, count } = worse!;
  const wanted = Math.min(count, page * ROWS);
  const found: EvaluationRow[] = [];
  let looked = 0;
  while (found.length < wanted && looked < MOST_LOOKED_AT) {
    const { rows } = await readRows(asked, LOOKED_AT_ONCE, looked, signal);
    found.push(...rows.filter((row) => isWorse(row, { baseline: ids[0]!, other: id, isLowGood })));
    looked += LOOKED_AT_ONCE;
    if (rows.length < LOOKED_AT_ONCE) break;
  }
  const isCut = found.length < wanted && looked >= MOST_LOOKED_AT;
  return { rows: found.slice((page - 1) * ROWS, page * ROWS), total: count, isCut };
}

export function isWorse(
  { trials }: EvaluationRow,
  { baseline, other, isLowGood }: { baseline: string; other: string; isLowGood: boolean },
): boolean {
  const before = meanScore(trials.get(baseline) ?? []);
  const after = meanScore(trials.get(other) ?? []);
  if (before === null || after === null) return false;
  return isLowGood ? after > before : after < before;
}

/** The mean of the scores; passes count as 1. */
function meanScore(trials: readonly Trial[]): number | null {
  const known = trials.flatMap(({ score }) => {
    if (score === 'true' || score === 'false') return [Number(score === 'true')];
    return /^-?\d/.test(score) ? [Number(score)] : [];
  });
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length;
}

async function readRows(
  { project, ids, score, worse, isLowGood }: RowsRequest,
  limit: number,
  offset: number,
  signal: AbortSignal,
): Promise<{ rows: EvaluationRow[]; total: number }> {
  const field = score && scoreField(score);
  const last = worse?.id ?? ids.at(-1)!;
  const body = {
    evaluation_call_ids: ids,
    include_raw_data_rows: true,
    resolve_row_refs: true,
    include_costs: true,
    limit,
    offset,
    ...(field !== undefined && {
      sort_by: [
        { field, direction: 'desc', mode: 'difference' },
        { field, direction: isLowGood ? 'desc' : 'asc', evaluation_call_id: last },
      ],
    }),
  };
  const response = await send('POST', `/v2/${project}/eval_results/query`, { body, signal });
  return parseRows(await indexJson(await response.text(), signal), score);
}

/** Reads the rows as nodes of the answer's text, so that every digit stays as it was stored. */
export function parseRows(
  index: JsonIndex,
  score: Pick<ComparedScore, 'scorer_key' | 'path'> | undefined,
): { rows: EvaluationRow[]; total: number } {
  const rows = [...index.children(index.member(0, 'rows')!)].map((row): EvaluationRow => {
    const trials = new Map<string, Trial[]>();
    for (const run of index.children(index.member(row, 'evaluations')!))
      trials.set(
        JSON.parse(index.nodeText(index.member(run, 'evaluation_call_id')!)) as string,
        [...index.children(index.member(run, 'trials')!)].map((trial) =>
          parseTrial(index, trial, score),
        ),
      );
    const inputs = index.member(row, 'raw_data_row');
    return {
      digest: JSON.parse(index.nodeText(index.member(row, 'row_digest')!)) as string,
      inputs: inputs === undefined ? '' : documentText(index, inputs),
      trials,
    };
  });
  return { rows, total: Number(index.nodeText(index.member(0, 'total_rows')!)) };
}

function parseTrial(
  index: JsonIndex,
  trial: number,
  score: Pick<ComparedScore, 'scorer_key' | 'path'> | undefined,
): Trial {
  const value = (name: string): unknown =>
    JSON.parse(index.nodeText(index.member(trial, name)!)) as unknown;
  const amount = (name: string) => value(name) as number | null;
  const scored = score && scoreNode(index, index.member(trial, 'scores')!, score);
  return {
    callId: (value('predict_call_id') ?? value('predict_and_score_call_id')) as string,
    output: documentText(index, index.member(trial, 'model_output')!),
    score: scored === undefined ? '' : index.nodeText(scored),
    latencySeconds: amount('model_latency_seconds'),
    tokens: amount('total_tokens'),
    cost: amount('total_cost'),
  };
}

function scoreNode(
  index: JsonIndex,
  scores: number,
  { scorer_key, path }: Pick<ComparedScore, 'scorer_key' | 'path'>,
): number | undefined {
  const names = path === null ? [scorer_key] : [scorer_key, ...path.split('.')];
  return names.reduce<number | undefined>(
    (at, name) =>
      at === undefined || index.kind(at) !== 'object' ? undefined : index.member(at, name),
    scores,
  );
}

/** Longer documents are not formatted; only their beginning is shown. */
const MOST_FORMATTED = 100_000;

/** The text of a string, or a formatted value. */
function documentText(index: JsonIndex, node: number): string {
  if (index.kind(node) === 'string') return decoded(index.nodeText(node));
  return index.nodeLength(node) > MOST_FORMATTED ? index.nodeText(node) : formatJson(index, node);
}
