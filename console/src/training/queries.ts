import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { allLines, type Answer, post, type RequestBody, type Schema, send } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';
import type { TrajectoriesSearch } from './search.ts';

export type Model = Schema<'ModelDto'>;
export type Job = Schema<'TrainingJobDto'>;
export type Metrics = Schema<'ModelCheckpointDto'>['metrics'];

type List =
  | '/v1/preview/models'
  | '/v1/preview/models/{id}/checkpoints'
  | '/v1/preview/training-jobs'
  | '/v1/preview/training-jobs/{id}/events';
type Item<P extends List> = Answer<P, 'get'> extends { data: (infer T)[] } ? T : never;
type Page<P extends List> = Omit<Answer<List, 'get'>, 'data'> & { data: Item<P>[] };

/** Parameters of a list: the id in its path, and its query. */
interface ListRequest {
  id?: string;
  [name: string]: string | undefined;
}

/** The most items that a list returns at once. */
const PAGE = 100;
/** The most models that are read, oldest first. */
const MOST_MODELS = 1000;

async function pageQuery<P extends List>(
  path: P,
  { id = '', ...options }: ListRequest,
  signal: AbortSignal,
): Promise<Page<P>> {
  const query = new URLSearchParams({ limit: String(PAGE) });
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) query.set(name, value);
  const response = await send('GET', `${path.replace('{id}', id)}?${query}`, { signal });
  return (await response.json()) as Page<P>;
}

/** Reads all pages of a list, from the beginning or from behind an item. */
export async function* readPages<P extends List>(
  path: P,
  asked: ListRequest,
  signal: AbortSignal,
): AsyncGenerator<Item<P>[]> {
  for (let after = asked['after']; ;) {
    const page = await pageQuery(path, { ...asked, after }, signal);
    yield page.data;
    if (!page.has_more) return;
    after = page.last_id;
  }
}

/** Reads pages of a list, newest items first. */
export const newestFirst = <P extends List>(path: P, asked: ListRequest) =>
  infiniteQueryOptions({
    queryKey: keys.trainingList(path, asked),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      pageQuery(path, { ...asked, order: 'desc', after: pageParam }, signal),
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : undefined),
  });

export const modelsQuery = (entity: string, project: string) =>
  queryOptions({
    queryKey: keys.models(entity, project),
    queryFn: async ({ signal }) => {
      const models: Model[] = [];
      for await (const page of readPages('/v1/preview/models', { entity, project }, signal)) {
        models.push(...page);
        if (models.length >= MOST_MODELS) break;
      }
      return models;
    },
  });

export const jobsQuery = (entity: string, project: string, model_id?: string) =>
  newestFirst('/v1/preview/training-jobs', { entity, project, ...(model_id && { model_id }) });

export type Lint = Schema<'LintDto'>;
export type Rewards = Schema<'RewardFactsDto'>;
export type Facts = Schema<'PreviewFactsDto'>;
export type Build = Schema<'BuildDto'>;
export type BuildPreview = Omit<Schema<'BuildPreviewedDto'>, 'samples' | 'hint'>;
/** The setting of a recipe that leaves out the most units. */
export type Hint = Schema<'BuildPreviewedDto'>['hint'];

const BUILDS = 100;

export const buildsQuery = (project_id: string, buildId?: string) =>
  infiniteQueryOptions({
    queryKey: keys.builds(project_id, buildId),
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => {
      const { builds } = await post(
        '/builds/query',
        {
          project_id,
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: BUILDS,
          offset: pageParam,
          ...(buildId && { filter: { build_ids: [buildId] } }),
        },
        { signal },
      );
      return builds;
    },
    getNextPageParam: (page, pages) => (page.length < BUILDS ? undefined : pages.length * BUILDS),
  });

/** A trajectory with its stored JSON, in which every digit is as recorded. */
export interface Sample {
  text: string;
  trajectory: Trajectory;
}

export const readGroup = (index: JsonIndex, group: number): Sample[] => {
  const trajectories = index.member(group, 'trajectories');
  if (trajectories === undefined) return [];
  return Array.from(index.children(trajectories), (node) => {
    const text = index.nodeText(node);
    return { text, trajectory: JSON.parse(text) as Trajectory };
  });
};

export type Trajectory = Schema<'TrajectoryDto'>;

/** Reads the trace ids of calls. */
export const tracesQuery = (project_id: string, ids: readonly string[]) =>
  queryOptions({
    queryKey: keys.callTraces(project_id, ids),
    enabled: ids.length > 0,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const calls = await allLines(
        '/calls/stream_query',
        { project_id, filter: { call_ids: [...ids] }, columns: ['id', 'trace_id'] },
        signal,
      );
      return new Map(calls.map(({ id, trace_id }) => [id, trace_id]));
    },
  });

/** The newest feedback entries that suggestions are made from. */
const FEEDBACK = 200;
const MOST_TERMS = 100;
const MOST_DEPTH = 6;

/** A path in feedback with a value, and whether that is a number or a boolean. */
export interface FeedbackTerm {
  feedback: string;
  path: string;
  isScore: boolean;
}

/** Reads the possible terms of a reward: types of the newest feedback, and the paths of values in it. */
export const termsQuery = (project_id: string) =>
  queryOptions({
    queryKey: keys.rewardTerms(project_id),
    queryFn: async ({ signal }): Promise<FeedbackTerm[]> => {
      const { result } = await post(
        '/feedback/query',
        {
          project_id,
          fields: ['feedback_type', 'payload'],
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: FEEDBACK,
        },
        { signal },
      );
      const terms = new Map<string, FeedbackTerm>();
      for (const row of result as { feedback_type: string; payload: object }[])
        for (const [path, isScore] of valuePaths(row.payload)) {
          const key = `${row.feedback_type} ${path}`;
          if (terms.size < MOST_TERMS)
            terms.set(key, { feedback: row.feedback_type, path, isScore });
        }
      return [...terms.values()];
    },
  });

function* valuePaths(value: unknown, path: string[] = []): Generator<[string, boolean]> {
  if (typeof value !== 'object' || value === null) {
    const isScore = typeof value === 'number' || typeof value === 'boolean';
    if (path.length > 0 && value !== null) yield [path.join('.'), isScore];
  } else if (!Array.isArray(value) && path.length < MOST_DEPTH)
    for (const [name, inner] of Object.entries(value)) yield* valuePaths(inner, [...path, name]);
}

export type LineageRequest = Omit<RequestBody<'/lineage/query'>, 'project_id'>;

export const lineageQuery = (project_id: string, of: LineageRequest) =>
  queryOptions({
    queryKey: keys.lineage(project_id, of),
    queryFn: ({ signal }) => post('/lineage/query', { project_id, ...of }, { signal }),
  });

/** Trajectories of a page. It is small, because a trajectory may have hundreds of kilobytes. */
export const TRAJECTORIES = 25;

/** A trajectory with the members that the service adds to the logged ones. */
export type StoredTrajectory = Schema<'StoredTrajectoryDto'>;

interface TrajectoryRow {
  text: string;
  kept: StoredTrajectory;
}

/** Reads a page of the trajectories of a model or of a job. */
export const trajectoriesQuery = (
  of: { model_id: string; job_id: string | undefined },
  search: TrajectoriesSearch,
) => {
  const { split, step, sort, page = 1 } = search;
  return queryOptions({
    queryKey: keys.trajectories({ ...of, split, step, sort, page }),
    queryFn: ({ signal }) => findTrajectories({ ...of, job_id: of.job_id ?? null }, search, signal),
    placeholderData: keepPreviousData,
    structuralSharing: false,
    gcTime: 60_000,
  });
};

/** Reads one row more than a page when more exist. */
async function findTrajectories(
  of: object,
  { split, step, sort, page = 1 }: TrajectoriesSearch,
  signal: AbortSignal,
): Promise<TrajectoryRow[]> {
  const body = {
    ...of,
    ...(split !== undefined && { split }),
    ...(step !== undefined && { step }),
    sort_by: sort
      ? [{ field: sort.replace('-', ''), direction: sort.startsWith('-') ? 'desc' : 'asc' }]
      : [
          { field: 'created_at', direction: 'desc' },
          { field: 'group_index', direction: 'asc' },
          { field: 'trajectory_index', direction: 'asc' },
        ],
    limit: TRAJECTORIES + 1,
    offset: (page - 1) * TRAJECTORIES,
  };
  const response = await send('POST', '/v1/preview/trajectories/query', { body, signal });
  const lines = (await response.text()).split('\n').slice(0, -1);
  return lines.map((text) => ({ text, kept: JSON.parse(text) as StoredTrajectory }));
}

export const trajectoryIndexQuery = (id: string, text: string) =>
  queryOptions({
    queryKey: keys.trajectoryIndex(id),
    queryFn: ({ signal }): Promise<JsonIndex> => indexJson(text, signal),
    staleTime: Infinity,
    gcTime: 0,
    structuralSharing: false,
  });
