import { textIn } from '../api/search.ts';

/** Search parameters of a queue's page: the id of an item. Without it the page begins the next one. */
export interface QueueSearch {
  item?: string;
}

export function queueSearch(search: Record<string, unknown>): QueueSearch {
  const item = textIn(search['item']);
  return item === undefined ? {} : { item };
}
