import { queryOptions } from '@tanstack/react-query';
import { type RequestBody, post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { sourceFilter } from '../api/sources.ts';
import { wire } from '../api/wire.ts';
import { type Grouping, searchGranularity, type MetricsSearch, searchWindow } from './search.ts';
import { statGroups, type StatsAnswer, statSeries, wholeWindow } from './stats.ts';

type StatsRequest = RequestBody<'/calls/stats'>;

const METRICS = {
  call_metrics: [
    { metric: 'error_count' as const },
    { metric: 'latency_ms' as const, percentiles: [50, 95, 99] },
  ],
  usage_metrics: [
    { metric: 'input_tokens' as const },
    { metric: 'output_tokens' as const },
    { metric: 'total_cost' as const },
  ],
};

/** Seconds of a bucket longer than any window, so that the whole window is one bucket. */
const ONE_BUCKET = 2_147_472_000;
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const REFRESH_MS = 15_000;

const postStats = (body: StatsRequest, signal: AbortSignal): Promise<StatsAnswer> =>
  post('/calls/stats', body, { signal });

const statsRequest = (project_id: string, search: MetricsSearch) => {
  const { start, end } = searchWindow(search, Date.now());
  return {
    project_id,
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    timezone: ZONE,
    filter: { ...(search.roots && { trace_roots_only: true }), ...sourceFilter(search.source) },
    ...METRICS,
  };
};

/** Refetch options: a window that ends now moves on. */
const refresh = ({ from }: MetricsSearch) => ({
  refetchInterval: from === undefined ? REFRESH_MS : (false as const),
  staleTime: REFRESH_MS,
});

/** Reads the window in buckets and as a whole, both over the same calls. */
export const statsQuery = (project: string, search: MetricsSearch) => {
  const { range, from, to, step, roots, source } = search;
  return queryOptions({
    queryKey: keys.stats(project, { range, from, to, step, roots, source }),
    queryFn: async ({ signal }) => {
      const request = statsRequest(project, search);
      const [start, end] = [Date.parse(request.start), Date.parse(request.end)];
      const granularity = searchGranularity(search, (end - start) / 1000);
      const [series, whole] = await Promise.all([
        postStats({ ...request, granularity }, signal),
        postStats({ ...request, granularity: ONE_BUCKET }, signal),
      ]);
      return { end, series: statSeries(series, end), whole: wholeWindow(whole) };
    },
    ...refresh(search),
  });
};

export type Stats = Awaited<ReturnType<NonNullable<ReturnType<typeof statsQuery>['queryFn']>>>;

const groupField = (by: Grouping) =>
  ({ op: 'op_name', user: 'end_user', key_user: wire.userId })[by];

/** Reads the window grouped by op, by end user, or by the user of the key. */
export const groupsQuery = (project: string, search: MetricsSearch, by: Grouping) => {
  const { range, from, to, roots, source } = search;
  return queryOptions({
    queryKey: keys.stats(project, { range, from, to, roots, source }, by),
    queryFn: async ({ signal }) => {
      const name = groupField(by);
      const body = { granularity: ONE_BUCKET, group_by: [name] } as Partial<StatsRequest>;
      return statGroups(
        await postStats({ ...statsRequest(project, search), ...body }, signal),
        name,
      );
    },
    ...refresh(search),
  });
};

/** Feedback of people and scorers under one name, over time. */
export interface Scores {
  name: string;
  starts: number[];
  until: number;
  /** Values by the path in the payload: means of numbers, and the share of `true` for booleans. */
  paths: { path: string; values: (number | null)[]; whole: number | null }[];
}

/** Feedback entries, newest first, that are read to find the names. */
const LOOKED_AT = 1000;
const MOST_NAMES = 6;
/** Paths that have a colour of their own. */
const MOST_PATHS = 6;

export const scoresQuery = (project: string, search: MetricsSearch) => {
  const { range, from, to, step } = search;
  return queryOptions({
    queryKey: keys.scores(project, { range, from, to, step }),
    queryFn: async ({ signal }) => {
      const { start, end } = searchWindow(search, Date.now());
      const window = {
        project_id: project,
        start: new Date(start).toISOString(),
        end: new Date(end).toISOString(),
      };
      const granularity = searchGranularity(search, (end - start) / 1000);
      const types = await scoreTypes(window, signal);
      const found = await Promise.all(
        types.map((type) => scoresOf(type, { ...window, granularity }, signal)),
      );
      return found.filter(({ paths }) => paths.length > 0);
    },
    ...refresh(search),
  });
};

interface Window {
  project_id: string;
  start: string;
  end: string;
}

const prefixes = () => [`${wire.feedback}.annotation.`, `${wire.feedback}.runnable.`];

async function scoreTypes({ project_id, start, end }: Window, signal: AbortSignal) {
  const created = (operator: string, time: string) => ({
    [operator]: [{ $getField: 'created_at' }, { $literal: time }],
  });
  const body = {
    project_id,
    fields: ['feedback_type'],
    query: { $expr: { $and: [created('$gte', start), created('$lt', end)] } },
    sort_by: [{ field: 'created_at', direction: 'desc' as const }],
    limit: LOOKED_AT,
  };
  const { result } = await post('/feedback/query', body, { signal });
  const types = new Set((result as { feedback_type: string }[]).map((one) => one.feedback_type));
  return [...types]
    .filter((type) => prefixes().some((prefix) => type.startsWith(prefix)))
    .toSorted()
    .slice(0, MOST_NAMES);
}

async function scoresOf(
  feedback_type: string,
  window: Window & { granularity: number },
  signal: AbortSignal,
): Promise<Scores> {
  const { granularity, ...of } = window;
  const schema = await post('/feedback/payload_schema', { ...of, feedback_type }, { signal });
  const metrics = schema.paths.flatMap(({ json_path, value_type }) =>
    value_type === 'numeric' || value_type === 'boolean' ? { json_path, value_type } : [],
  ) as { json_path: string; value_type: 'numeric' | 'boolean' }[];
  const asked = metrics.slice(0, MOST_PATHS);
  const body = { ...window, feedback_type, metrics: asked, timezone: ZONE };
  const name = prefixes().reduce((rest, prefix) => rest.replace(prefix, ''), feedback_type);
  if (asked.length === 0) return { name, starts: [], until: 0, paths: [] };
  const { buckets, window_stats } = await post('/feedback/stats', body, { signal });
  const rows = buckets as ({ timestamp: string } & Record<string, number | null>)[];
  const starts = rows.map(({ timestamp }) => Date.parse(timestamp) / 1000);
  return {
    name,
    starts,
    until: Math.max(Date.parse(window.end) / 1000, (starts.at(-1) ?? 0) + granularity),
    paths: asked.map(({ json_path }) => {
      const slug = json_path.replaceAll(/[^A-Za-z0-9]+/g, '_');
      return {
        path: json_path.replace(/^(value|output)\.?/, '') || name,
        values: rows.map((row) => mean((of) => row[`${of}_${slug}`])),
        whole: mean((of) => window_stats[slug]?.[of]),
      };
    }),
  };
}

/** The mean of numbers, or the share of `true` for booleans; null without either. */
function mean(value: (aggregation: string) => number | null | undefined): number | null {
  const [yes, no] = [value('count_true') ?? 0, value('count_false') ?? 0];
  return value('avg') ?? (yes + no > 0 ? yes / (yes + no) : null);
}
