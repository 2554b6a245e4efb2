import { textIn } from '../api/search.ts';
import { sourceIn, type SourceSearch } from '../api/sources.ts';

const SORTS = [
  'last_updated',
  'thread_id',
  'turn_count',
  'start_time',
  'p50_turn_duration_ms',
  'p99_turn_duration_ms',
] as const;
export type Sort = (typeof SORTS)[number];

export interface ThreadsSearch extends SourceSearch {
  sort?: Sort;
  /** A text that calls of the threads say. */
  q?: string;
  /** Ascending order; descending when absent. */
  up?: true;
}

export function threadsSearch(search: Record<string, unknown>): ThreadsSearch {
  const { sort, up } = search;
  const q = textIn(search['q']);
  const known = SORTS.find((name) => name === sort);
  return {
    ...(q && { q }),
    ...(known && { sort: known }),
    ...(up === true && { up }),
    ...sourceIn(search),
  };
}
