import { post } from '../api/client.ts';
import type { CallsRequest } from './request.ts';

/** Counting stops here. */
const MOST_COUNTED = 10_000;

export interface Counted {
  count: number;
  /** There are more than were counted. */
  has_more: boolean;
}

/** How many rows match, without so many that are known. */
export async function counted(
  { project_id, filter, query }: CallsRequest,
  signal: AbortSignal,
  known = 0,
): Promise<Counted> {
  const request = { project_id, filter, query, limit: MOST_COUNTED + known };
  const { count, has_more } = await post('/calls/query_stats', request, { signal });
  return { count: count - known, has_more };
}

export const shown = ({ count, has_more }: Counted): string =>
  `${count.toLocaleString('en-US')}${has_more ? '+' : ''}`;
