import { queryOptions } from '@tanstack/react-query';
import { post, type Schema } from '../api/client.ts';

export type RowSource = Schema<'DatasetSourceDto'>;

/** Lines of one answer. */
export const MOST_LINES = 1000;

/** Reads the calls that rows come from, keyed by row digest. A row may come from several calls. */
export const sourcesQuery = (project_id: string, object_id: string, row_digests: string[]) =>
  queryOptions({
    queryKey: ['row sources', project_id, object_id, row_digests],
    queryFn: async ({ signal }) => {
      const request = { project_id, object_id, row_digests, limit: MOST_LINES };
      const { rows } = await post('/datasets/lineage', request, { signal });
      const byRow = new Map<string, RowSource[]>();
      for (const line of rows) {
        const lines = byRow.get(line.row_digest);
        if (lines) lines.push(line);
        else byRow.set(line.row_digest, [line]);
      }
      return byRow;
    },
    structuralSharing: false,
    enabled: row_digests.length > 0,
  });

/** Reads rows that are in the dataset although a call they come from was erased. Returns one answer's worth at most. */
export const erasedQuery = (project_id: string, object_id: string) =>
  queryOptions({
    queryKey: ['erased rows', project_id, object_id],
    queryFn: async ({ signal }) => {
      const request = { project_id, object_id, erased: true, limit: MOST_LINES };
      const { rows } = await post('/datasets/lineage', request, { signal });
      return [...new Set(rows.map(({ row_digest }) => row_digest))];
    },
  });
