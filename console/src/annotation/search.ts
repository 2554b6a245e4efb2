/** What stands in the address of a queue: an item; without one it is the next. */
export interface QueueSearch {
  item?: string;
}

export const queueSearch = ({ item }: Record<string, unknown>): QueueSearch =>
  typeof item === 'string' && item !== '' ? { item } : {};
