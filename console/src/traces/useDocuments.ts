import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { CallRow } from '../api/calls.ts';
import { isPath } from './column-names.ts';

/** Larger documents (stored bytes) are not read for a cell. */
const MOST_BYTES = 64 * 1024;

/** Texts keyed by call id, then by path. */
export type CellDocuments = ReadonlyMap<string, ReadonlyMap<string, string>>;
const NONE: CellDocuments = new Map();

/** True when the documents of a call are small enough for cells. */
export const isSmall = ({ storage_size_bytes: size }: CallRow): boolean =>
  typeof size === 'number' && size <= MOST_BYTES;

/** Reads the values of path columns for the rows in view. The code for it is loaded with the first such column. */
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
