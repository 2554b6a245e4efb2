import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { CallRow } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import { useLiveList, useReread } from '../api/live-list.ts';
import { scrollPosition } from '../ui/scroll-positions.ts';
import { countCalls, countText } from './count.ts';
import { type CallsRequest, newerRequest, PAGE, pageRequest, type Sort } from './request.ts';

export const LABEL = 'Traces';
/** Rows in view are requested in blocks, so that scrolling by a few lines needs no request. */
const BLOCK = 50;

const read = (request: CallsRequest, signal?: AbortSignal) =>
  allLines('/calls/stream_query', request, signal);

/**
 * Reads the rows of a search as a live list, the number of new rows while the list stands still, and the ids in view.
 */
export function useTraces(
  chosen: CallsRequest,
  { isLive, sort, withSizes }: { isLive: boolean; sort: Sort | undefined; withSizes: boolean },
) {
  const order = { sort, withSizes };
  const list = useLiveList<CallRow>({
    queryKey: ['traces', chosen, order],
    project: chosen.project_id,
    isLive,
    isScrolled: scrollPosition(LABEL) > 0,
    pageSize: PAGE,
    read: (behind, signal) => read(pageRequest(chosen, { ...order, behind }), signal),
    onStillTick: () => Promise.all([rereadView(), rereadWaiting()]),
  });
  const { rows, isStill, isLater, pages, table } = list;
  const isWatched = isLive && isStill;

  const [[first, last], view] = useState([0, BLOCK] as [number, number]);
  const ids = useMemo(() => rows.slice(first, last).map(({ id }) => id), [rows, first, last]);
  const viewKey = ['traces in view', chosen.project_id, ids];
  const inView = useQuery({
    queryKey: viewKey,
    queryFn: ({ signal }) =>
      read(
        pageRequest({ project_id: chosen.project_id, filter: { call_ids: ids } }, { withSizes }),
        signal,
      ),
    enabled: isWatched && ids.length > 0,
    gcTime: 0,
  });
  const rereadView = useReread(viewKey);

  const waitingKey = ['waiting traces', chosen, rows.length, rows[0]?.id, rows.at(-1)?.id];
  const waiting = useQuery({
    queryKey: waitingKey,
    queryFn: ({ signal }) => waitingFor(chosen, rows, pages.data?.pages ?? [], signal),
    enabled: isWatched && !isLater && !sort,
    gcTime: 0,
  });
  const rereadWaiting = useReread(waitingKey);

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

/** The number of further rows before the last loaded one, as text; empty for none. */
async function waitingFor(
  chosen: CallsRequest,
  rows: CallRow[],
  pages: CallRow[][],
  signal: AbortSignal,
): Promise<string> {
  const isComplete = (pages.at(-1)?.length ?? 0) < PAGE;
  const inFront = isComplete ? chosen : newerRequest(chosen, rows.at(-1)!, { orSame: true });
  const [newer, all] = await Promise.all([
    countCalls(newerRequest(chosen, rows[0]!), signal),
    countCalls(inFront, signal, rows.length),
  ]);
  // loaded rows that no longer match reduce the difference, but must not hide newer rows
  const { count, has_more } = newer.count > all.count ? newer : all;
  return count > 0 ? countText({ count, has_more }) : '';
}
