import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { type CallRow, type DerivedSummary, derivedSummary } from '../api/calls.ts';
import { allLines, post, type RequestBody, type Schema } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { wire } from '../api/wire.ts';

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

const PAGE = 200;
const COLUMNS = ['display_name', 'ended_at', 'exception', 'inputs', 'output', 'summary'];

/** The op names that the clients give to an evaluation. */
const evaluateOps = (project: string) => [
  `${wire.scheme}:///${project}/op/Evaluation.evaluate:*`,
  'Evaluation.evaluate',
];

/** Reads the runs of a project in pages, newest first. */
export const runsQuery = (project_id: string) =>
  infiniteQueryOptions({
    queryKey: ['evaluation runs', project_id],
    initialPageParam: undefined as EvaluationRun | undefined,
    queryFn: ({ pageParam, signal }) =>
      readRuns(
        {
          project_id,
          filter: { op_names: evaluateOps(project_id) },
          limit: PAGE,
          ...(pageParam && { after: [pageParam.startedAt, pageParam.id] }),
        },
        signal,
      ),
    getNextPageParam: (page) => (page.length < PAGE ? undefined : page.at(-1)),
  });

/** Reads runs by their ids, in the order of the ids. Deleted runs are left out. */
export const chosenRunsQuery = (project_id: string, ids: readonly string[]) =>
  queryOptions({
    queryKey: ['evaluation runs', project_id, ids],
    queryFn: async ({ signal }) => {
      const found = await readRuns({ project_id, filter: { call_ids: [...ids] } }, signal);
      const runs = new Map(found.map((run) => [run.id, run]));
      return ids.flatMap((id) => runs.get(id) ?? []);
    },
  });

/** Reads runs of any of these evaluations, named by refs, newest first. */
export const runsOfEvaluations = (
  project_id: string,
  input_refs: string[],
  limit: number,
  signal: AbortSignal,
): Promise<EvaluationRun[]> =>
  readRuns(
    { project_id, filter: { op_names: evaluateOps(project_id), input_refs }, limit },
    signal,
  );

async function readRuns(
  request: RequestBody<'/calls/stream_query'>,
  signal: AbortSignal,
): Promise<EvaluationRun[]> {
  const calls = await allLines(
    '/calls/stream_query',
    { ...request, sort_by: [{ field: 'started_at', direction: 'desc' }], columns: COLUMNS },
    signal,
  );
  return calls.map(evaluationRun);
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function evaluationRun(call: CallRow): EvaluationRun {
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

/** Runs whose results are read in one request. */
const RESULTS_AT_ONCE = 20;
const REFRESH_MS = 15_000;

/** Reads scores, tokens and costs of runs, keyed by run id. Repeats while a run is in progress. */
export const resultsQuery = (project: string, runs: readonly EvaluationRun[]) =>
  queryOptions({
    queryKey: ['evaluation results', project, runs.map(({ id, status }) => [id, status])],
    queryFn: async ({ signal }) => {
      const results = new Map<string, Results>();
      for (let at = 0; at < runs.length; at += RESULTS_AT_ONCE) {
        const ids = runs.slice(at, at + RESULTS_AT_ONCE).map(({ id }) => id);
        for (const one of await readResults(project, ids, signal))
          results.set(one.evaluation_call_id, one);
      }
      return results;
    },
    staleTime: REFRESH_MS,
    structuralSharing: false,
    refetchInterval: runs.some(({ status }) => status === 'running') ? REFRESH_MS : false,
  });

/** Reads results. Splits the request when the runs have more trials than the service reads for one answer. */
async function readResults(
  project: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Results[]> {
  try {
    const { summary } = await post(
      '/v2/{entity}/{project}/eval_results/query',
      {
        evaluation_call_ids: [...ids],
        include_rows: false,
        include_summary: true,
        include_costs: true,
      },
      { signal, to: `/v2/${project}/eval_results/query` },
    );
    return summary?.evaluations ?? [];
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'too_large' || ids.length < 2) throw error;
    const half = Math.ceil(ids.length / 2);
    return [
      ...(await readResults(project, ids.slice(0, half), signal)),
      ...(await readResults(project, ids.slice(half), signal)),
    ];
  }
}
