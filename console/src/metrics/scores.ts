import { queryOptions } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { wire } from '../api/wire.ts';
import { type MetricsSearch, searchGranularity, searchWindow } from './search.ts';
import { refresh, ZONE } from './stats.ts';

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
    queryKey: ['scores', project, { range, from, to, step }],
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
