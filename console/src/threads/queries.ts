import { infiniteQueryOptions } from '@tanstack/react-query';
import { allLines, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { type Source, sourceFilter } from '../api/sources.ts';
import type { Sort, ThreadsSearch } from './search.ts';
import { PAGE, readTurns } from './turns.ts';

export type Thread = Schema<'ThreadDto'>;

/** Threads of one page of the list. */
export const THREADS = 200;

/** A search lists the threads of at most so many calls, the newest ones. The service takes so many threads. */
const MOST_FOUND = 1000;

/** Reads which threads have calls that say a text, in any case. */
async function threadsSaying(project_id: string, text: string, signal: AbortSignal) {
  const says = ['inputs', 'output', 'exception'].map((field) => ({
    $contains: {
      input: { $getField: field },
      substr: { $literal: text },
      case_insensitive: true,
    },
  }));
  const isInThread = { $ne: [{ $getField: 'thread_id' }, { $literal: null }] };
  const request = {
    project_id,
    query: { $expr: { $and: [isInThread, { $or: says }] } },
    columns: ['thread_id'],
    sort_by: [
      { field: 'started_at', direction: 'desc' as const },
      { field: 'id', direction: 'desc' as const },
    ],
    limit: MOST_FOUND,
  };
  const calls = await allLines('/calls/stream_query', request, signal);
  return [...new Set(calls.map(({ thread_id }) => thread_id as string))];
}

/** Returns the filter of a list of threads. Undefined when no thread has calls that say the text. */
export async function threadsFilter(
  project: string,
  { q, source }: ThreadsSearch,
  signal: AbortSignal,
) {
  const thread_ids = q === undefined ? undefined : await threadsSaying(project, q, signal);
  if (thread_ids?.length === 0) return undefined;
  return { ...sourceFilter(source), ...(thread_ids && { thread_ids }) };
}

/** Reads a page of threads, from the beginning or from behind a thread. */
export const readThreads = async (
  {
    project,
    q,
    sort,
    up,
    source,
    behind,
  }: {
    project: string;
    q: string | undefined;
    sort: Sort;
    up: true | undefined;
    source: Source;
    behind: Thread | undefined;
  },
  signal: AbortSignal,
): Promise<Thread[]> => {
  const filter = await threadsFilter(project, { ...(q !== undefined && { q }), source }, signal);
  if (!filter) return [];
  return allLines(
    '/threads/stream_query',
    {
      project_id: project,
      filter,
      sort_by: [{ field: sort, direction: up ? 'asc' : 'desc' }],
      limit: THREADS,
      ...(behind && {
        after: sort === 'thread_id' ? [behind.thread_id] : [behind[sort], behind.thread_id],
      }),
    },
    signal,
  );
};

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
