import { type CallRow, type DerivedSummary, derivedSummary } from '../api/calls.ts';
import type { Schema } from '../api/client.ts';

/** A run of an evaluation: an `Evaluation.evaluate` call of any client. */
export interface EvaluationRun {
  id: string;
  traceId: string;
  displayName: string | null;
  /** Refs of evaluation and model; null when the client did not publish them. */
  evaluation: string | null;
  model: string | null;
  status: DerivedSummary['status'];
  startedAt: string;
  /** The summary that the run ended with. */
  output: unknown;
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export function evaluationRun(call: CallRow): EvaluationRun {
  const { id, trace_id, display_name = null, started_at, inputs = {}, output = null } = call;
  return {
    id,
    traceId: trace_id,
    displayName: display_name,
    evaluation: text(inputs['self']),
    model: text(inputs['model']),
    status: derivedSummary(call).status,
    startedAt: started_at,
    output,
  };
}

/** A run on the page that compares runs, with the letter that it has there. */
export interface ComparedRun {
  letter: string;
  run: EvaluationRun;
}

export const refName = (ref: string): string => /\/object\/([^/:]+):[^/]+$/.exec(ref)?.[1] ?? ref;

/** The first six characters of the digest in a ref: enough to distinguish versions. */
export const refVersion = (ref: string): string => /:([^/:]+)$/.exec(ref)?.[1]?.slice(0, 6) ?? '';

const UNPUBLISHED = 'Without a name';

export const evaluationName = ({ evaluation }: EvaluationRun): string =>
  evaluation === null ? UNPUBLISHED : refName(evaluation);

/** The displayed name of a run: that of its model, since runs of one evaluation differ in the model. */
export const runName = ({ model, displayName, id }: EvaluationRun): string =>
  model === null ? (displayName ?? id) : refName(model);

/** Everything that distinguishes a run from others of the same name. */
export const runTitle = ({ id, model, displayName }: EvaluationRun): string =>
  [displayName, model, id].filter((part) => part !== null).join('\n');

/** The model's mean time for a row in milliseconds, as the end of the run reports it. */
export function runLatency({ output }: EvaluationRun): number | null {
  const mean = valueAt(output, ['model_latency', 'mean']);
  return typeof mean === 'number' ? mean * 1000 : null;
}

/** The value at a path of members; undefined when one is missing. */
export const valueAt = (document: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, name) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    document,
  );

export type Results = NonNullable<Schema<'EvalResultsDto'>['summary']>['evaluations'][number];
export type ScoreStat = Results['scorer_stats'][number];
