import type { RequestBody } from '../api/client.ts';
import { wire } from '../api/wire.ts';
import { parseExpression } from './filter.ts';

/** What stands in the address of the page. */
export interface TracesSearch {
  /** The text of the filter bar. */
  q?: string;
  range?: Range;
  /** Every call, not only the roots of traces. */
  all?: true;
}

export const RANGES = {
  '15m': ['Last 15 minutes', 15 * 60],
  '1h': ['Last hour', 3600],
  '24h': ['Last 24 hours', 86_400],
  '7d': ['Last 7 days', 7 * 86_400],
  '30d': ['Last 30 days', 30 * 86_400],
} as const;
export type Range = keyof typeof RANGES;

export function tracesSearch(search: Record<string, unknown>): TracesSearch {
  const { q, range, all } = search;
  return {
    ...(typeof q === 'string' && q !== '' && { q }),
    ...(typeof range === 'string' && Object.hasOwn(RANGES, range) && { range: range as Range }),
    ...(all === true && { all }),
  };
}

export type CallsRequest = RequestBody<'/calls/stream_query'>;

/** One direction for both, so that an index finds a page wherever it lies. */
const NEWEST_FIRST = ['started_at', 'id'].map((field) => ({ field, direction: 'desc' as const }));
export const PAGE = 100;

/** What chooses the rows. The time range counts from `now`. @throws BadFilter */
export function choice(
  project_id: string,
  { q, range, all }: TracesSearch,
  now: number,
): CallsRequest {
  const conditions = [
    q === undefined ? undefined : parseExpression(q),
    range && {
      $gte: [
        { $getField: 'started_at' },
        { $literal: new Date(now - RANGES[range][1] * 1000).toISOString() },
      ],
    },
  ].filter((condition) => condition !== undefined);
  return {
    project_id,
    ...(!all && { filter: { trace_roots_only: true } }),
    ...(conditions.length > 0 && { query: { $expr: and(conditions) } }),
  };
}

const and = (conditions: object[]) =>
  conditions.length === 1 ? conditions[0]! : { $and: conditions };

/** The rows of a choice that come behind a row, the newest first. */
export function pageRequest(
  chosen: CallsRequest,
  behind?: { id: string; started_at: string },
): CallsRequest {
  const columns = ['display_name', 'ended_at', 'thread_id', wire.userId, 'summary'];
  return {
    ...chosen,
    sort_by: NEWEST_FIRST,
    limit: PAGE,
    columns,
    include_costs: true,
    ...(behind && { after: [behind.started_at, behind.id] }),
  };
}

/** The rows of a choice that come in front of a row. */
export function newerRequest(
  chosen: CallsRequest,
  { id, started_at }: { id: string; started_at: string },
  { orSame = false } = {},
): CallsRequest {
  const [at, of] = [
    [{ $getField: 'started_at' }, { $literal: started_at }],
    [{ $getField: 'id' }, { $literal: id }],
  ];
  const ofThatTime = and([{ $eq: at }, orSame ? { $gte: of } : { $gt: of }]);
  // the first condition is implied by the second, and is the one that an index serves
  const isInFront = and([{ $gte: at }, { $or: [{ $gt: at }, ofThatTime] }]);
  const { query } = chosen;
  return {
    ...chosen,
    query: { $expr: query ? and([query.$expr as object, isInFront]) : isInFront },
  };
}

/** The request as a command for a terminal; the key comes from its environment. */
export const asCurl = (url: string, request: CallsRequest): string =>
  `curl -sS -u "me:$SKEIN_API_KEY" -H 'Content-Type: application/json' ${url}/calls/stream_query \\\n  -d '${JSON.stringify(
    request,
  ).replaceAll("'", `'\\''`)}'`;
