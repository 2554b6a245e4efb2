import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { CallRow } from '../api/calls.ts';
import { derivedOf } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { type CallsRequest, PAGE, pageOf } from './request.ts';

const MAX_RUNNING = 200;

const read = (request: CallsRequest, signal?: AbortSignal) =>
  allLines<CallRow>('/calls/stream_query', request, signal);

/**
 * The rows of a choice, page by page, and what is new since: rows that came, and rows that ran and have ended. Of those that
 * came only the ones of `frozen` are shown, if there is such a set: what is being read must not move away.
 */
export function useTraces(
  chosen: CallsRequest,
  { isLive, frozen }: { isLive: boolean; frozen: ReadonlySet<string> | null },
) {
  const pages = useInfiniteQuery({
    queryKey: ['traces', chosen],
    initialPageParam: undefined as CallRow | undefined,
    queryFn: ({ pageParam, signal }) => read(pageOf(chosen, pageParam), signal),
    getNextPageParam: (page) => (page.length < PAGE ? undefined : page.at(-1)),
    refetchOnWindowFocus: false,
    staleTime: Infinity,
  });
  const old = useMemo(() => pages.data?.pages.flat() ?? [], [pages.data]);
  const fresh = useQuery({
    queryKey: ['fresh traces', chosen],
    queryFn: async ({ signal, client }): Promise<Map<string, CallRow>> => {
      const known = client.getQueryData<Map<string, CallRow>>(['fresh traces', chosen]);
      const now = new Map(known);
      const running = [...old, ...now.values()]
        .filter((row) => derivedOf(now.get(row.id) ?? row).status === 'running')
        .map(({ id }) => id)
        .slice(0, MAX_RUNNING);
      const [newest, ended] = await Promise.all([
        read(pageOf(chosen), signal),
        running.length === 0
          ? []
          : read(pageOf({ ...chosen, filter: { ...chosen.filter, call_ids: running } }), signal),
      ]);
      for (const row of [...ended, ...newest]) now.set(row.id, row);
      return now;
    },
    enabled: false,
    staleTime: Infinity,
  });
  useLive(isLive ? chosen.project_id : undefined, ['calls'], () => {
    if (pages.data) return fresh.refetch();
  });

  return useMemo(() => {
    const news = fresh.data ?? new Map<string, CallRow>();
    const ids = new Set(old.map(({ id }) => id));
    const came = [...news.values()].filter(({ id }) => !ids.has(id));
    const shown = frozen ? came.filter(({ id }) => frozen.has(id)) : came;
    return {
      pages,
      rows: [...shown.toSorted(newestFirst), ...old.map((row) => news.get(row.id) ?? row)],
      waiting: came.length - shown.length,
      /** The ids of each page, and of what came since. */
      groups: [...(pages.data?.pages ?? []), shown].map((group) => group.map(({ id }) => id)),
    };
  }, [pages, old, fresh.data, frozen]);
}

const newestFirst = (a: CallRow, b: CallRow) =>
  b.started_at.localeCompare(a.started_at) || (a.id < b.id ? 1 : -1);
