import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { CallRow } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { countCalls } from './count.ts';
import { type CallsRequest, pageRequest } from './request.ts';

export const readRows = (request: CallsRequest, signal?: AbortSignal): Promise<CallRow[]> =>
  allLines('/calls/stream_query', request, signal);

/** Reads rows of the list again. */
export const rowsInViewQuery = (project_id: string, ids: string[], withSizes: boolean) =>
  queryOptions({
    queryKey: keys.tracesInView(project_id, ids),
    queryFn: ({ signal }) =>
      readRows(pageRequest({ project_id, filter: { call_ids: ids } }, { withSizes }), signal),
    gcTime: 0,
  });

export const countQuery = (chosen: CallsRequest) =>
  queryOptions({
    queryKey: keys.traceCount(chosen),
    queryFn: ({ signal }) => countCalls(chosen, signal),
  });

/**
 * Counts the rows of a search that belong before the last loaded one and are not loaded. The code for it is loaded
 * when the list stands still: the size of the first load is limited.
 */
export const waitingQuery = (chosen: CallsRequest, rows: CallRow[], pages: CallRow[][]) =>
  queryOptions({
    queryKey: keys.waitingTraces(chosen, [rows.length, rows[0]?.id, rows.at(-1)?.id]),
    queryFn: async ({ signal }) => {
      const { waitingFor } = await import('./waiting.ts');
      return waitingFor(chosen, rows, pages, signal);
    },
    gcTime: 0,
  });

const documents = () => import('./read-documents.ts');

/** Texts keyed by call id, then by path. */
export type CellDocuments = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Reads values at paths for cells. The code for it is loaded with the first such column. */
export const cellDocumentsQuery = (
  project_id: string,
  { paths, call_ids, ended }: { paths: string[]; call_ids: string[]; ended: string },
) =>
  queryOptions({
    queryKey: keys.cellDocuments(project_id, { paths, call_ids, ended }),
    queryFn: async ({ signal }): Promise<CellDocuments> => {
      const { readDocuments } = await documents();
      return readDocuments({ project_id, call_ids, paths }, signal);
    },
    enabled: paths.length > 0 && call_ids.length > 0,
    placeholderData: keepPreviousData,
    structuralSharing: false,
    staleTime: Infinity,
    gcTime: 0,
  });

/** Cells with the place of the first text that each call says, keyed by call id. */
export type MatchCells = ReadonlyMap<string, ReactNode>;

/** Reads where calls say some texts. */
export const matchesQuery = (project_id: string, ids: string[], texts: string[]) =>
  queryOptions({
    queryKey: keys.matches(project_id, ids, texts),
    queryFn: async ({ signal }) => {
      const { matchCells } = await documents();
      return matchCells({ project_id, ids, texts }, signal);
    },
    enabled: texts.length > 0 && ids.length > 0,
    placeholderData: keepPreviousData,
    structuralSharing: false,
    gcTime: 0,
  });

/** Reads calls whole, to find the paths in their documents. */
export const sampleDocumentsQuery = (project_id: string, call_ids: string[]) =>
  queryOptions({
    queryKey: keys.sampleDocuments(project_id, call_ids),
    queryFn: ({ signal }) =>
      readRows(
        { project_id, filter: { call_ids }, columns: ['inputs', 'output', 'attributes'] },
        signal,
      ),
    staleTime: Infinity,
    retry: false,
  });

/** Loads the code of completion when the filter is opened: the size of the first load is limited. */
export const completionQuery = queryOptions({
  queryKey: keys.completion(),
  queryFn: () => import('./suggestions.ts'),
  staleTime: Infinity,
  structuralSharing: false,
});
