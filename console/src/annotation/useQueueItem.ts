import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import type { QueueItem } from '../api/annotation.ts';
import { beginNext, readItem } from './queries.ts';

const SEEN_MS = 60_000;

/** Reads the item of the address. Without one it begins the next item and puts its id into the address. */
export function useQueueItem(
  project: string,
  queueId: string,
  { itemId, isWriter }: { itemId: string | undefined; isWriter: boolean },
) {
  const client = useQueryClient();
  const navigate = useNavigate({ from: '/p/$entity/$project/queues/$queueId' });
  const itemKey = (id: string) => ['queue item', project, queueId, id];
  const query = useQuery({
    queryKey: itemKey(itemId ?? 'next'),
    queryFn: ({ signal }) => {
      if (itemId !== undefined) return readItem(project, queueId, { id: itemId }, signal);
      return isWriter
        ? beginNext(project, queueId, signal)
        : readItem(project, queueId, { position: 1 }, signal);
    },
    // a refetch when the window gets the focus would begin another item
    refetchOnWindowFocus: false,
    // an item may have been judged since it was last shown, and the next item is requested each time
    staleTime: 0,
    gcTime: itemId === undefined ? 0 : SEEN_MS,
    placeholderData: keepPreviousData,
  });
  const show = (item: QueueItem | null, isReplaced = false) => {
    if (item) client.setQueryData(itemKey(item.id), item);
    void navigate({ search: item ? { item: item.id } : {}, replace: isReplaced });
  };
  const begun = itemId === undefined && !query.isPlaceholderData ? query.data : undefined;
  const showBegun = useEffectEvent((item: QueueItem) => show(item, true));
  useEffect(() => {
    if (begun) showBegun(begun);
  }, [begun]);
  return {
    query,
    show: (item: QueueItem | null) => show(item),
    /** Opens the item at a position of the queue, counted from 1. Does nothing for a position outside of the queue. */
    goTo: async (position: number) => {
      const item = position < 1 ? null : await readItem(project, queueId, { position });
      if (item) show(item);
    },
  };
}
