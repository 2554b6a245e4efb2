import { infiniteQueryOptions } from '@tanstack/react-query';
import { allLines, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { type Source, sourceFilter } from '../api/sources.ts';
import type { Sort } from './search.ts';
import { PAGE, readTurns } from './turns.ts';

export type Thread = Schema<'ThreadDto'>;

/** Threads of one page of the list. */
export const THREADS = 200;

/** Reads a page of threads, from the beginning or from behind a thread. */
export const readThreads = (
  {
    project,
    sort,
    up,
    source,
    behind,
  }: {
    project: string;
    sort: Sort;
    up: true | undefined;
    source: Source;
    behind: Thread | undefined;
  },
  signal: AbortSignal,
): Promise<Thread[]> =>
  allLines(
    '/threads/stream_query',
    {
      project_id: project,
      filter: sourceFilter(source),
      sort_by: [{ field: sort, direction: up ? 'asc' : 'desc' }],
      limit: THREADS,
      ...(behind && {
        after: sort === 'thread_id' ? [behind.thread_id] : [behind[sort], behind.thread_id],
      }),
    },
    signal,
  );

/** Reads the turns of a thread in pages, oldest first. */
export const threadQuery = (project: string, threadId: string) =>
  infiniteQueryOptions({
    queryKey: keys.thread(project, threadId),
    initialPageParam: undefined as string[] | undefined,
    queryFn: ({ pageParam, signal }) => readTurns(project, threadId, pageParam, signal),
    getNextPageParam: (page) => {
      const last = page.length < PAGE ? undefined : page.at(-1)!.call;
      return last && [last.started_at, last.id];
    },
    structuralSharing: false,
  });
