import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import type { QueueItem } from '../api/annotation.ts';
import { keys } from '../api/keys.ts';
import { itemQuery, readItem } from './queries.ts';

/** Reads the item of the address. Without one it begins the next item and puts its id into the address. */
export function useQueueItem(
  project: string,
  queueId: string,
  { itemId, isWriter }: { itemId: string | undefined; isWriter: boolean },
) {
  const client = useQueryClient();
  const navigate = useNavigate({ from: '/p/$entity/$project/queues/$queueId' });
  const query = useQuery(itemQuery(project, queueId, { itemId, isWriter }));
  const show = (item: QueueItem | null, isReplaced = false) => {
    if (item) client.setQueryData(keys.queueItem(project, queueId, item.id), item);
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
