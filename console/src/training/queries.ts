import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { allLines, type Answer, get, post, type Schema, send } from '../api/client.ts';
import { formatJson } from '../json/json-format.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';

export type Model = Schema<'ModelDto'>;
export type Checkpoint = Schema<'ModelCheckpointDto'>;
export type Job = Schema<'TrainingJobDto'>;
export type JobEvent = Schema<'TrainingJobEventDto'>;
export type Metrics = Checkpoint['metrics'];

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
async function* readPages<P extends List>(
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
const newestFirst = <P extends List>(path: P, asked: ListRequest) =>
  infiniteQueryOptions({
    queryKey: ['training', path, asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      pageQuery(path, { ...asked, order: 'desc', after: pageParam }, signal),
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : undefined),
  });

export const modelsQuery = (entity: string, project: string) =>
  queryOptions({
    queryKey: ['models', entity, project],
    queryFn: async ({ signal }) => {
      const models: Model[] = [];
      for await (const page of readPages('/v1/preview/models', { entity, project }, signal)) {
        models.push(...page);
        if (models.length >= MOST_MODELS) break;
      }
      return models;
    },
  });

export const checkpointsQuery = (modelId: string) =>
  newestFirst('/v1/preview/models/{id}/checkpoints', { id: modelId });

export type CheckpointDetail = Schema<'CheckpointWithFilesDto'>;
export type CheckpointFile = Schema<'ManifestFileDto'>;

const checkpointPath = (modelId: string, step: number) =>
  `/v1/preview/models/${modelId}/checkpoints/${step}`;

/** Reads a checkpoint with its files. Its config stays the text that the trainer sent. */
export const checkpointQuery = (modelId: string, step: number) =>
  queryOptions({
    queryKey: ['checkpoint', modelId, step],
    queryFn: async ({ signal }) => {
      const response = await send('GET', checkpointPath(modelId, step), { signal });
      const index = await indexJson(await response.text(), signal);
      const config = index.member(0, 'config')!;
      return {
        checkpoint: JSON.parse(index.text) as CheckpointDetail,
        config: index.kind(config) === 'object' ? formatJson(index, config) : null,
      };
    },
  });

/** The path of a file's bytes. A `Range` header selects a part. */
export const filePath = (modelId: string, step: number, name: string) =>
  `${checkpointPath(modelId, step)}/file?name=${encodeURIComponent(name)}`;

export const jobsQuery = (entity: string, project: string, model_id?: string) =>
  newestFirst('/v1/preview/training-jobs', { entity, project, ...(model_id && { model_id }) });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['job', id],
    queryFn: ({ signal }) =>
      get('/v1/preview/training-jobs/{id}', { to: `/v1/preview/training-jobs/${id}`, signal }),
  });

/**
 * Reads all events of a job, oldest first. Later reads add only new events. Each attempt begins with an empty list,
 * since the reports of a repeated attempt no longer count.
 */
export const eventsQuery = (job: Job | undefined) =>
  queryOptions({
    queryKey: ['events', job?.id, job?.attempt, job?.status === 'queued'],
    enabled: job !== undefined,
    structuralSharing: false,
    queryFn: async ({ signal, client, queryKey }) => {
      const before = client.getQueryData<JobEvent[]>(queryKey) ?? [];
      const added: JobEvent[] = [];
      const asked = { id: job!.id, after: before.at(-1)?.id };
      for await (const page of readPages('/v1/preview/training-jobs/{id}/events', asked, signal))
        added.push(...page);
      return added.length > 0 ? [...before, ...added] : before;
    },
  });

export const hasEnded = ({ status }: Job): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';

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
    queryKey: ['builds', project_id, buildId],
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

/** Characters that are read for samples at most. */
const MOST_SAMPLE = 8_000_000;

/** Reads the first groups of a build, as far as they fit into `MOST_SAMPLE`. */
export const samplesQuery = (project_id: string, build_id: string, groups: number) =>
  queryOptions({
    queryKey: ['samples', project_id, build_id],
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const body = { project_id, build_id, format: 'art', split: 'all' };
      const end = new AbortController();
      const response = await send('POST', '/build/export', {
        body,
        signal: AbortSignal.any([signal, end.signal]),
      });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (let ends = 0; ends < groups && text.length < MOST_SAMPLE;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        ends += value.split('\n').length - 1;
      }
      end.abort(); // ends the download
      const lines = text.split('\n').slice(0, -1).slice(0, groups);
      return Promise.all(lines.map(async (line) => readGroup(await indexJson(line, signal), 0)));
    },
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
    queryKey: ['traces of', project_id, ids],
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
