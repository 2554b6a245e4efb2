import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { CallRow } from '../api/calls.ts';
import { isPath } from './column-names.ts';

/** Documents of more stored bytes are not fetched for a cell. */
const MOST_BYTES = 64 * 1024;

/** Texts by the ids of calls, then by paths. */
export type CellDocuments = ReadonlyMap<string, ReadonlyMap<string, string>>;
const NONE: CellDocuments = new Map();

/** Whether the documents of a call are small enough for cells. */
export const isSmall = ({ storage_size_bytes: size }: CallRow): boolean =>
  typeof size === 'number' && size <= MOST_BYTES;

/** What the columns that are paths lead to in the rows in sight. What reads them is loaded when there is such a column. */
export function useDocuments(
  project_id: string,
  rows: readonly CallRow[],
  columns: readonly string[],
): CellDocuments {
  const paths = columns.filter(isPath);
  const call_ids = rows.filter(isSmall).map(({ id }) => id);
  const ended = rows.map(({ ended_at }) => (ended_at ? 1 : 0)).join('');
  const { data } = useQuery({
    queryKey: ['documents of rows', project_id, paths, call_ids, ended],
    queryFn: async ({ signal }) => {
      const { readDocuments } = await import('./read-documents.ts');
      return readDocuments({ project_id, call_ids, paths }, signal);
    },
    enabled: paths.length > 0 && call_ids.length > 0,
    placeholderData: keepPreviousData,
    structuralSharing: false,
    staleTime: Infinity,
    gcTime: 0,
  });
  return data ?? NONE;
}
