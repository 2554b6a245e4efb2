import { post } from '../api/client.ts';
import type { CallsRequest } from './request.ts';

const MOST_COUNTED = 10_000;

interface CallCount {
  count: number;
  /** More rows match than were counted. */
  has_more: boolean;
}

/** Counts matching rows beyond `known` ones. */
export async function countCalls(
  { project_id, filter, query }: CallsRequest,
  signal: AbortSignal,
  known = 0,
): Promise<CallCount> {
  const request = { project_id, filter, query, limit: MOST_COUNTED + known };
  const { count, has_more } = await post('/calls/query_stats', request, { signal });
  return { count: count - known, has_more };
}

export const countText = ({ count, has_more }: CallCount): string =>
  `${count.toLocaleString('en-US')}${has_more ? '+' : ''}`;
