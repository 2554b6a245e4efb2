import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { CallRow } from '../api/calls.ts';
import { keys } from '../api/keys.ts';
import { useLiveList, useReread } from '../api/live-list.ts';
import { scrollPosition } from '../ui/scroll-positions.ts';
import { readRows, rowsInViewQuery, waitingQuery } from './queries.ts';
import { type CallsRequest, PAGE, pageRequest, type Sort } from './request.ts';

export const LABEL = 'Traces';
/** Rows in view are requested in blocks, so that scrolling by a few lines needs no request. */
const BLOCK = 50;

/**
 * Reads the rows of a search as a live list, the number of new rows while the list stands still, and the ids in view.
 */
export function useTraces(
  chosen: CallsRequest,
  { isLive, sort, withSizes }: { isLive: boolean; sort: Sort | undefined; withSizes: boolean },
) {
  const order = { sort, withSizes };
  const list = useLiveList<CallRow>({
    queryKey: keys.traces(chosen, order),
    project: chosen.project_id,
    isLive,
    isScrolled: scrollPosition(LABEL) > 0,
    pageSize: PAGE,
    read: (behind, signal) => readRows(pageRequest(chosen, { ...order, behind }), signal),
    onStillTick: () => Promise.all([rereadView(), rereadWaiting()]),
  });
  const { rows, isStill, isLater, pages, table } = list;
  const isWatched = isLive && isStill;

  const [[first, last], view] = useState([0, BLOCK] as [number, number]);
  const ids = useMemo(() => rows.slice(first, last).map(({ id }) => id), [rows, first, last]);
  const ofView = rowsInViewQuery(chosen.project_id, ids, withSizes);
  const inView = useQuery({ ...ofView, enabled: isWatched && ids.length > 0 });
  const rereadView = useReread(ofView.queryKey);

  const ofWaiting = waitingQuery(chosen, rows, pages.data?.pages ?? []);
  const waiting = useQuery({ ...ofWaiting, enabled: isWatched && !isLater && !sort });
  const rereadWaiting = useReread(ofWaiting.queryKey);

  return {
    ...list,
    rows: useMemo(() => {
      const now = new Map(inView.data?.map((row) => [row.id, row]));
      return rows.map((row) => now.get(row.id) ?? row);
    }, [rows, inView.data]),
    waiting: isStill && waiting.data ? waiting.data : '',
    idsInView: ids,
    inView: [first, last] as const,
    table: {
      ...table,
      onView: (from: number, to: number) => {
        table.onView(from, to);
        const start = from - (from % BLOCK);
        const end = to - (to % BLOCK) + BLOCK;
        if (start !== first || end !== last) view([start, end]);
      },
    },
  };
}
