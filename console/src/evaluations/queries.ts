import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { allLines, post, type RequestBody, send } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Problem } from '../api/problem.ts';
import { wire } from '../api/wire.ts';
import { indexJson } from '../json/json-indexer.ts';
import { leaderboard, type Leaderboard } from './leaderboards.ts';
import {
  type EvaluationRow,
  isWorse,
  parseRows,
  ROWS,
  type RowsPage,
  type RowsRequest,
} from './rows.ts';
import { type EvaluationRun, evaluationRun, type Results } from './runs.ts';
import { scoreField } from './scores.ts';

const PAGE = 200;
const COLUMNS = ['display_name', 'ended_at', 'exception', 'inputs', 'output', 'summary'];

/** The op names that the clients give to an evaluation. */
const evaluateOps = (project: string) => [
  `${wire.scheme}:///${project}/op/Evaluation.evaluate:*`,
  'Evaluation.evaluate',
];

export const isRun = (project: string) => ({ op_names: evaluateOps(project) });

/** Reads the runs of a project in pages, newest first. */
export const runsQuery = (project_id: string) =>
  infiniteQueryOptions({
    queryKey: keys.evaluationRuns(project_id),
    initialPageParam: undefined as EvaluationRun | undefined,
    queryFn: ({ pageParam, signal }) =>
      readRuns(
        {
          project_id,
          filter: isRun(project_id),
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
    queryKey: keys.evaluationRuns(project_id, ids),
    queryFn: async ({ signal }) => {
      const found = await readRuns({ project_id, filter: { call_ids: [...ids] } }, signal);
      const runs = new Map(found.map((run) => [run.id, run]));
      return ids.flatMap((id) => runs.get(id) ?? []);
    },
  });

/** Reads runs of any of these evaluations, named by refs, newest first. */
const runsOfEvaluations = (
  project_id: string,
  input_refs: string[],
  limit: number,
  signal: AbortSignal,
): Promise<EvaluationRun[]> =>
  readRuns({ project_id, filter: { ...isRun(project_id), input_refs }, limit }, signal);

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

/** Runs whose results are read in one request. */
const RESULTS_AT_ONCE = 20;
const REFRESH_MS = 15_000;

/** Reads scores, tokens and costs of runs, keyed by run id. Repeats while a run is in progress. */
export const resultsQuery = (project: string, runs: readonly EvaluationRun[]) =>
  queryOptions({
    queryKey: keys.evaluationResults(
      project,
      runs.map(({ id, status }) => [id, status]),
    ),
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

/** Compares runs with the first one. */
export const comparedQuery = (project: string, ids: readonly string[]) =>
  queryOptions({
    queryKey: keys.evaluationsCompared(project, ids),
    queryFn: ({ signal }) =>
      post(
        '/v2/{entity}/{project}/eval_results/compare',
        { baseline_call_id: ids[0]!, other_call_ids: ids.slice(1) },
        { signal, to: `/v2/${project}/eval_results/compare` },
      ),
  });

const MOST_BOARDS = 200;
/** The most runs that are read for a leaderboard, newest first. */
const MOST_RUNS = 1000;

export const boardsQuery = (project_id: string) =>
  queryOptions({
    queryKey: keys.leaderboards(project_id),
    queryFn: async ({ signal }) => {
      const { objs } = await post(
        '/objs/query',
        {
          project_id,
          filter: { base_object_classes: ['Leaderboard'], latest_only: true },
          sort_by: [{ field: 'object_id', direction: 'asc' }],
          limit: MOST_BOARDS,
        },
        { signal },
      );
      return objs.map(({ object_id, val }) => leaderboard(object_id, val));
    },
  });

export const boardRunsQuery = (project: string, { name, columns }: Leaderboard) => {
  const refs = [...new Set(columns.map(({ evaluation }) => evaluation))];
  return queryOptions({
    queryKey: keys.leaderboardRuns(project, name, refs),
    queryFn: ({ signal }) =>
      refs.length === 0 ? [] : runsOfEvaluations(project, refs, MOST_RUNS, signal),
    refetchInterval: REFRESH_MS,
  });
};

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
    queryKey: keys.evaluationRows(asked),
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
