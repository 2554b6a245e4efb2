import { type CallRow, derivedSummary } from '../api/calls.ts';
import type { RequestBody } from '../api/client.ts';
import { textIn, windowIn } from '../api/search.ts';
import { type Source, sourceFilter, sourceIn, type SourceSearch } from '../api/sources.ts';
import { wire } from '../api/wire.ts';
import { columnsIn } from './column-names.ts';
import { isNaming } from '../../../src/tracing/naming.ts';
import { InvalidFilter, parseExpression } from './filter.ts';

export interface TracesSearch extends SourceSearch {
  /** The text of the filter bar. */
  q?: string;
  range?: Range;
  /** A window instead of a range, in ISO 8601. */
  from?: string;
  to?: string;
  /** Lists all calls instead of the roots of traces. */
  all?: true;
  /** Lists calls whose parent is not stored. */
  orphans?: true;
  /** The columns in their order; the default ones when absent. */
  cols?: string[];
  /** Newest first when absent. */
  sort?: Sort;
}

/** Orders besides the one by time; `-` means descending. */
const SORTS = ['-latency', 'latency'] as const;
export type Sort = (typeof SORTS)[number];

export const RANGES = {
  '15m': ['Last 15 minutes', 15 * 60],
  '1h': ['Last hour', 3600],
  '6h': ['Last 6 hours', 6 * 3600],
  '24h': ['Last 24 hours', 86_400],
  '7d': ['Last 7 days', 7 * 86_400],
  '30d': ['Last 30 days', 30 * 86_400],
  '90d': ['Last 90 days', 90 * 86_400],
  '365d': ['Last year', 365 * 86_400],
} as const;
type Range = keyof typeof RANGES;

export function tracesSearch(search: Record<string, unknown>): TracesSearch {
  const { range, all, orphans } = search;
  const q = textIn(search['q']);
  const window = windowIn(search);
  const cols = columnsIn(search['cols']);
  const sort = SORTS.find((one) => one === search['sort']);
  const isRange = typeof range === 'string' && Object.hasOwn(RANGES, range);
  return {
    ...(q !== undefined && { q }),
    ...window,
    ...(isRange && window.from === undefined && { range: range as Range }),
    ...(all === true && { all }),
    ...(orphans === true && { orphans }),
    ...(cols && { cols }),
    ...(sort && { sort }),
    ...sourceIn(search),
  };
}

/** The source when the address has none. All sources if the filter names a source, call, trace or thread. */
export function usualSource({ q = '', orphans }: TracesSearch): Source {
  if (orphans) return 'all';
  try {
    const query = parseExpression(q);
    return query && isNaming(query) ? 'all' : 'production';
  } catch (error) {
    if (error instanceof InvalidFilter) return 'production';
    throw error;
  }
}

export type CallsRequest = RequestBody<'/calls/stream_query'>;

/** Both fields have the same direction, so that an index finds every page. */
const NEWEST_FIRST = ['started_at', 'id'].map((field) => ({
  field,
  direction: 'desc' as const,
}));
export const PAGE = 100;

/**
 * The filter and query of a search. The time range counts back from `now`.
 *
 * @throws InvalidFilter
 */
export function callsRequest(project_id: string, search: TracesSearch, now: number): CallsRequest {
  const { q, range, from, to, all, orphans, source = usualSource(search) } = search;
  const since = range ? new Date(now - RANGES[range][1] * 1000).toISOString() : from;
  const conditions = [
    q === undefined ? undefined : parseExpression(q, now),
    since === undefined ? undefined : started('$gte', since),
    to === undefined ? undefined : started('$lt', to),
  ].filter((condition) => condition !== undefined);
  return {
    project_id,
    filter: {
      ...(orphans ? { orphans_only: true } : !all && { trace_roots_only: true }),
      ...sourceFilter(source),
    },
    ...(conditions.length > 0 && { query: { $expr: and(conditions) } }),
  };
}

const started = (operator: '$gte' | '$lt', time: string) => ({
  [operator]: [{ $getField: 'started_at' }, { $literal: time }],
});

export const and = (conditions: object[]) =>
  conditions.length === 1 ? conditions[0]! : { $and: conditions };

/** Requests the page of rows behind a row, in an order. */
export function pageRequest(
  chosen: CallsRequest,
  {
    behind,
    sort,
    withSizes,
  }: { behind?: CallRow | undefined; sort?: Sort | undefined; withSizes?: boolean } = {},
): CallsRequest {
  const columns = [
    'operation',
    'parent_id',
    'display_name',
    'ended_at',
    'thread_id',
    wire.userId,
    'summary',
  ];
  const direction = sort === 'latency' ? ('asc' as const) : ('desc' as const);
  const sort_by = [
    { field: `summary.${wire.summary}.latency_ms`, direction },
    { field: 'id', direction },
  ];
  const first = (row: CallRow) => (sort ? derivedSummary(row).latency_ms : row.started_at);
  return {
    ...chosen,
    sort_by: sort ? sort_by : NEWEST_FIRST,
    limit: PAGE,
    columns,
    include_costs: true,
    include_trace_totals: true,
    ...(withSizes && { include_storage_size: true }),
    ...(behind && { after: [first(behind), behind.id] }),
  };
}
