import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { allLines, type BodyOf, post, send } from '../api/client.ts';
import { indexed } from '../json/indexed.ts';
import type { JsonIndex } from '../json/json-index.ts';
import type { JobStatus } from '../ui/Status.tsx';

export interface Model {
  id: string;
  name: string;
  base_model: string;
}

/** Of a checkpoint, a trajectory or an event, by name; a trajectory may say true or false. */
export type Metrics = Record<string, number | boolean>;

export interface Checkpoint {
  id: string;
  step: number;
  metrics: Metrics;
}

export interface Job {
  id: string;
  model_id: string;
  status: JobStatus;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  error_message: string | null;
  attempt: number;
  cancel_requested: boolean;
  num_groups: number | null;
  num_trajectories: number | null;
  experimental_config: object | null;
  checkpoint: { step: number; uri: string | null } | null;
}

export interface JobEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
  created_at: string;
}

interface Page<T> {
  data: T[];
  last_id: string;
  has_more: boolean;
}

/** The most that a list answers at once. */
const PAGE = 100;
/** Nobody trains so many models in one project; of more, the oldest are known. */
const MOST_MODELS = 1000;

async function pageOf<T>(
  path: string,
  options: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<Page<T>> {
  const query = new URLSearchParams({ limit: String(PAGE) });
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) query.set(name, value);
  const response = await send('GET', `/v1/preview/${path}?${query}`, { signal });
  return (await response.json()) as Page<T>;
}

/** The pages of a list from the beginning, or from behind an item, to the end. */
async function* pagesOf<T>(
  path: string,
  options: Record<string, string | undefined>,
  signal: AbortSignal,
): AsyncGenerator<T[]> {
  for (let { after } = options; ;) {
    const page = await pageOf<T>(path, { ...options, after }, signal);
    yield page.data;
    if (!page.has_more) return;
    after = page.last_id;
  }
}

/** Pages of a list whose newest items come first. */
const newestFirst = <T>(path: string, options: Record<string, string>) =>
  infiniteQueryOptions({
    queryKey: ['training', path, options],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      pageOf<T>(path, { ...options, order: 'desc', after: pageParam }, signal),
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : undefined),
  });

export const modelsQuery = (entity: string, project: string) =>
  queryOptions({
    queryKey: ['models', entity, project],
    queryFn: async ({ signal }) => {
      const models: Model[] = [];
      for await (const page of pagesOf<Model>('models', { entity, project }, signal)) {
        models.push(...page);
        if (models.length >= MOST_MODELS) break;
      }
      return models;
    },
  });

export const checkpointsQuery = (modelId: string) =>
  newestFirst<Checkpoint>(`models/${modelId}/checkpoints`, {});

/** Of a project, or of a model in it. */
export const jobsQuery = (entity: string, project: string, model_id?: string) =>
  newestFirst<Job>('training-jobs', { entity, project, ...(model_id && { model_id }) });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['job', id],
    queryFn: async ({ signal }) => {
      const response = await send('GET', `/v1/preview/training-jobs/${id}`, { signal });
      return (await response.json()) as Job;
    },
  });

/**
 * All events of a job, the oldest first; asked again, only those that have come since. What an attempt reported that is tried
 * again counts no more, so that each attempt begins anew.
 */
export const eventsQuery = (job: Job | undefined) =>
  queryOptions({
    queryKey: ['events', job?.id, job?.attempt, job?.status === 'queued'],
    enabled: job !== undefined,
    structuralSharing: false,
    queryFn: async ({ signal, client, queryKey }) => {
      const before = client.getQueryData<JobEvent[]>(queryKey) ?? [];
      const added: JobEvent[] = [];
      const path = `training-jobs/${job!.id}/events`;
      for await (const page of pagesOf<JobEvent>(path, { after: before.at(-1)?.id }, signal))
        added.push(...page);
      return added.length > 0 ? [...before, ...added] : before;
    },
  });

export const hasEnded = ({ status }: Job): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';

export interface Lint {
  code: string;
  level: 'error' | 'warning';
  count: number;
  examples: string[];
  is_dropped?: true;
}

export interface Rewards {
  mean: number | null;
  std_dev: number | null;
  min: number | null;
  max: number | null;
  eval_mean: number | null;
  equal_groups: number;
  histogram: { from: number; to: number; count: number }[];
}

interface Spread {
  min: number;
  median: number;
  max: number;
}

/** What somebody looks at before training on it. */
export interface Facts {
  metrics: Record<string, number>;
  tokens: Spread;
  turns: Spread;
  group_sizes: Record<string, number>;
  models: Record<string, number>;
  dialects: Record<string, number>;
  finish_reasons: Record<string, number>;
  several_histories: number;
}

/** What a recipe makes of the calls. */
export interface Made {
  as_of: string;
  digest: string;
  counts: Record<string, number>;
  lints: Lint[];
  facts: Facts;
  rewards: Rewards;
}

export interface Build extends Omit<Made, 'rewards'> {
  id: string;
  recipe_name: string;
  recipe_digest: string;
  mode: 'all' | 'new';
  manifest_digest: string;
  facts: Facts & { rewards: Rewards };
  jobs: {
    job_id: string;
    model_id: string | null;
    status: JobStatus | null;
    step: number | null;
  }[];
  created_at: string;
  erased_at: string | null;
}

const BUILDS = 100;

/** The newest builds first. */
export const buildsQuery = (project_id: string, buildId?: string) =>
  infiniteQueryOptions({
    queryKey: ['builds', project_id, buildId],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => {
      const { builds } = (await post(
        '/builds/query',
        {
          project_id,
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: BUILDS,
          offset: pageParam,
          ...(buildId && { filter: { build_ids: [buildId] } }),
        },
        { signal },
      )) as { builds: Build[] };
      return builds;
    },
    getNextPageParam: (page, pages) => (page.length < BUILDS ? undefined : pages.length * BUILDS),
  });

/** The names of the recipes of a project, the newest first. */
export const recipesQuery = (project_id: string) =>
  queryOptions({
    queryKey: ['recipes', project_id],
    queryFn: async ({ signal }) => {
      const { objs } = await post(
        '/objs/query',
        {
          project_id,
          filter: { latest_only: true, leaf_object_classes: ['Recipe'] },
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: 1000,
          metadata_only: true,
        },
        { signal },
      );
      return objs.map(({ object_id }) => object_id);
    },
  });

/** What a recipe would make now. Nothing is stored. */
export const previewQuery = (body: BodyOf<'/build/preview'>) =>
  queryOptions({
    queryKey: ['preview', body],
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const response = await send('POST', '/build/preview', { body, signal });
      const index = await indexed(await response.text(), signal);
      const samples = index.member(0, 'samples')!;
      const made = Object.fromEntries(
        ['as_of', 'digest', 'counts', 'lints', 'facts', 'rewards'].map((name) => [
          name,
          JSON.parse(index.textOf(index.member(0, name)!)) as unknown,
        ]),
      ) as unknown as Made;
      return { made, samples: Array.from(index.children(samples), (node) => groupOf(index, node)) };
    },
  });

/** Bytes of a group that is shown as a sample. */
const MOST_SAMPLE = 8_000_000;

/** The first groups of a build, as far as they are of a size to be read. */
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
      end.abort(); // of the rest, nothing is asked for
      const lines = text.split('\n').slice(0, -1).slice(0, groups);
      return Promise.all(lines.map(async (line) => groupOf(await indexed(line, signal), 0)));
    },
  });

/** A trajectory, and its JSON as it is kept: every digit as it was recorded. */
export interface Sample {
  text: string;
  trajectory: Trajectory;
}

const groupOf = (index: JsonIndex, group: number): Sample[] => {
  const trajectories = index.member(group, 'trajectories');
  if (trajectories === undefined) return [];
  return Array.from(index.children(trajectories), (node) => {
    const text = index.textOf(node);
    return { text, trajectory: JSON.parse(text) as Trajectory };
  });
};

export interface Trajectory {
  messages_and_choices?: unknown;
  tools?: unknown;
  additional_histories?: unknown;
  reward?: unknown;
  metrics?: unknown;
  metadata?: unknown;
  [name: string]: unknown;
}

/** The traces of calls that are known by their ids only. */
export const tracesOf = (project_id: string, ids: readonly string[]) =>
  queryOptions({
    queryKey: ['traces of', project_id, ids],
    enabled: ids.length > 0,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const calls = await allLines<{ id: string; trace_id: string }>(
        '/calls/stream_query',
        { project_id, filter: { call_ids: ids }, columns: ['id', 'trace_id'] },
        signal,
      );
      return new Map(calls.map(({ id, trace_id }) => [id, trace_id]));
    },
  });
