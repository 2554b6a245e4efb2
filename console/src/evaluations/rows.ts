import { formatJson } from '../json/json-format.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { decoded } from '../json/visible-text.ts';
import type { ComparedScore } from './scores.ts';

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
  isLowGood: boolean;
  page: number;
  /** Only rows whose score is worse in this run than in the baseline. `count` is the service's number of them. */
  worse?: { id: string; count: number } | undefined;
}

export const ROWS = 20;
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
