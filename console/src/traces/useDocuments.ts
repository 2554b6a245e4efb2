import { useQuery } from '@tanstack/react-query';
import type { CallRow } from '../api/calls.ts';
import { isPath } from './column-names.ts';
import { type CellDocuments, cellDocumentsQuery } from './queries.ts';

/** Larger documents (stored bytes) are not read for a cell. */
const MOST_BYTES = 64 * 1024;

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
  const { data } = useQuery(cellDocumentsQuery(project_id, { paths, call_ids, ended }));
  return data ?? NONE;
}
