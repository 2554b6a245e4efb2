import {
  hashKey,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import { type Key, keyBehind } from './keys.ts';
import { useLive } from './live.ts';

/** A list loads at most this many rows. After that it goes on in a new list behind the last row. */
const MOST_ROWS = 10_000;

/**
 * Reads a query again after the read in progress has ended, since that may have been answered before the change. It
 * does not cancel: a slow page would never arrive if every tick cancelled it.
 */
export function useReread(queryKey: Key): (before?: () => void) => Promise<void> {
  const client = useQueryClient();
  return async (before) => {
    const query = { queryKey, exact: true };
    const waiting = { cancelRefetch: false };
    if (client.isFetching(query) > 0) await client.refetchQueries(query, waiting);
    before?.();
    await client.refetchQueries(query, waiting);
  };
}

export interface LiveList<Row> {
  pages: UseInfiniteQueryResult<{ pages: Row[][] }>;
  rows: Row[];
  /** The user has scrolled away from the top, so the rows stay as they are. */
  isStill: boolean;
  /** The rows may have changed since. */
  hasTicked: boolean;
  /** The list begins behind a row, because it would be too long otherwise. */
  isLater: boolean;
  /** Begins a new list behind the last row. Undefined until the most rows are loaded. */
  goOn: (() => void) | undefined;
  /** Shows the top of the list as it is stored now. */
  toTop: () => void;
  table: {
    onEnd: () => void;
    onScrolledTo: (top: number) => void;
    onView: (first: number, last: number) => void;
  };
}

/**
 * Reads a list of any length in pages and follows what is stored. Each page begins behind the last row of the one
 * before.
 *
 * While the top is in view, a tick drops all pages out of view and reads the others again. So the rows are always the
 * first rows stored at the last tick, without a gap, in whatever order they were written. Scrolling loads the others.
 *
 * When the user has scrolled away, no row moves and `onStillTick` is called.
 */
export function useLiveList<Row>({
  queryKey,
  project,
  isLive,
  pageSize,
  isScrolled = false,
  read,
  onStillTick,
}: {
  queryKey: Key;
  project: string;
  isLive: boolean;
  pageSize: number;
  /** The list is shown again at its old scroll position, so its rows stay. */
  isScrolled?: boolean;
  read: (behind: Row | undefined, signal: AbortSignal) => Promise<Row[]>;
  onStillTick?: () => unknown;
}): LiveList<Row> {
  const client = useQueryClient();
  const [start, startBehind] = useState<Row>();
  const [isStill, setStill] = useState(isScrolled);
  const [hasTicked, setTicked] = useState(false);
  const [of, asSet] = useState(hashKey(queryKey));
  if (of !== hashKey(queryKey)) {
    asSet(hashKey(queryKey));
    startBehind(undefined);
    setStill(false);
  }
  const lastInView = useRef(0);
  const key = keyBehind(queryKey, start);
  const pages = useInfiniteQuery({
    queryKey: key,
    initialPageParam: start,
    queryFn: ({ pageParam, signal }) => read(pageParam as Row | undefined, signal),
    getNextPageParam: (page, all) =>
      page.length < pageSize || all.length * pageSize >= MOST_ROWS ? undefined : page.at(-1),
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  });
  const reread = useReread(key);
  const readTop = useEffectEvent(() =>
    reread(() => {
      const kept = 1 + Math.floor(lastInView.current / pageSize);
      client.setQueryData<typeof pages.data>(
        key,
        (now) =>
          now && { pages: now.pages.slice(0, kept), pageParams: now.pageParams.slice(0, kept) },
      );
    }),
  );
  useLive(isLive ? project : undefined, ['calls'], () => {
    if (!isStill) return readTop();
    setTicked(true);
    return onStillTick?.();
  });
  const readIfKnown = useEffectEvent(() => {
    if (pages.data) void readTop();
  });
  // reads rows that were stored while the list did not follow changes
  useEffect(() => {
    if (isStill) return;
    setTicked(false);
    if (isLive) readIfKnown();
  }, [isLive, isStill, of]);

  const rows = useMemo(() => pages.data?.pages.flat() ?? [], [pages.data]);
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  const isFull = rows.length >= MOST_ROWS;
  const begin = (behind: Row | undefined) => {
    if (behind !== start)
      client.removeQueries({ queryKey: keyBehind(queryKey, behind), exact: true });
    startBehind(behind);
    setStill(false);
    lastInView.current = 0;
  };
  return {
    pages,
    rows,
    isStill,
    hasTicked: isStill && hasTicked,
    isLater: start !== undefined,
    goOn: isFull ? () => begin(rows.at(-1)) : undefined,
    toTop: () => begin(undefined),
    table: {
      onEnd: () => {
        if (hasNextPage && !isFetching) void fetchNextPage({ cancelRefetch: false });
      },
      onScrolledTo: (top) => setStill(top > 0),
      onView: (_, last) => void (lastInView.current = last),
    },
  };
}
