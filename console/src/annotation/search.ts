import { textIn } from '../api/search.ts';

/** What stands in the address of a queue: an item; without one it is the next. */
export interface QueueSearch {
  item?: string;
}

export function queueSearch(search: Record<string, unknown>): QueueSearch {
  const item = textIn(search['item']);
  return item === undefined ? {} : { item };
}
