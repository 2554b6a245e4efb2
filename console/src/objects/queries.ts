import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { CallRow } from '../api/calls.ts';
import { allLines, type RequestBody, post, type Schema, send } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { wire } from '../api/wire.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { type FileToImport, previewFile } from './import-file.ts';
import { readRows, type TableOfProject } from './rows.ts';

/** A version without its value. */
export type Version = Schema<'ObjectVersionDto'> & { size_bytes: number };

const PAGE = 100;

export const versionsQuery = (
  project_id: string,
  filter: NonNullable<RequestBody<'/objs/query'>['filter']>,
  sort: string,
) => {
  const field = sort.replace('-', '') as 'object_id' | 'created_at';
  return infiniteQueryOptions({
    queryKey: keys.objects(project_id, filter, sort),
    initialPageParam: undefined as (string | number)[] | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const { objs } = await post(
        '/objs/query',
        {
          project_id,
          filter,
          sort_by: [{ field, direction: sort.startsWith('-') ? 'desc' : 'asc' }],
          limit: PAGE,
          metadata_only: true,
          include_storage_size: true,
          ...(pageParam && { after: pageParam }),
        },
        { signal },
      );
      return objs as Version[]; // with sizes, because the request asks for them
    },
    getNextPageParam: (page) => {
      const last = page.at(-1);
      if (!last || page.length < PAGE) return undefined;
      const { object_id, created_at, version_index } = last;
      return field === 'object_id'
        ? [object_id, version_index]
        : [created_at, version_index, object_id];
    },
  });
};

export const versionUser = (version: Version): string | null => version[wire.userId];

/** The ref of the version, as calls contain it. */
export const versionRef = (project: string, { kind, object_id, digest }: Version): string =>
  `${wire.scheme}:///${project}/${kind}/${object_id}:${digest}`;

/** The class of the object; empty when it names none. */
export const versionClass = ({ kind, base_object_class, leaf_object_class }: Version): string =>
  kind === 'op' ? 'op' : (leaf_object_class ?? base_object_class ?? '');

/** The value of a version as a node of the answer's text, so that every digit stays as it was sent. */
export interface IndexedValue {
  index: JsonIndex;
  root: number;
}

export const valueQuery = (project_id: string, { object_id, digest }: Version) =>
  queryOptions({
    queryKey: keys.objectValue(project_id, object_id, digest),
    queryFn: async ({ signal }): Promise<IndexedValue> => {
      const body = { project_id, object_id, digest };
      const response = await send('POST', '/obj/read', { body, signal });
      const index = await indexJson(await response.text(), signal);
      return { index, root: index.member(index.member(0, 'obj')!, 'val')! };
    },
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
  });

/** An expression for rows that say a text, in any case. */
export const rowsSaying = (text: string) => ({
  $expr: {
    $contains: {
      input: { $getField: 'val' },
      substr: { $literal: text },
      case_insensitive: true,
    },
  },
});

export const rowCountQuery = (table: TableOfProject) =>
  queryOptions({
    queryKey: keys.table(table),
    queryFn: async ({ signal }) => (await post('/table/query_stats', table, { signal })).count,
    staleTime: Infinity,
  });

/** Rows on a page of a table. */
export const ROWS = 50;

export const rowsQuery = (table: TableOfProject, page: number, sort: string | undefined) => {
  const field = sort?.replace(/^-/, '');
  const order = field && {
    sort_by: [{ field, direction: sort!.startsWith('-') ? 'desc' : 'asc' }],
  };
  return queryOptions({
    queryKey: keys.table(table, page, sort),
    queryFn: ({ signal }) =>
      readRows({ ...table, limit: ROWS, offset: (page - 1) * ROWS, ...order }, signal),
    staleTime: Infinity,
    structuralSharing: false,
    placeholderData: keepPreviousData,
  });
};

export type RowSource = Schema<'DatasetSourceDto'>;

/** Lines of one answer. */
export const MOST_LINES = 1000;

/** Reads the calls that rows come from, keyed by row digest. A row may come from several calls. */
export const sourcesQuery = (project_id: string, object_id: string, row_digests: string[]) =>
  queryOptions({
    queryKey: keys.rowSources(project_id, object_id, row_digests),
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
    queryKey: keys.erasedRows(project_id, object_id),
    queryFn: async ({ signal }) => {
      const request = { project_id, object_id, erased: true, limit: MOST_LINES };
      const { rows } = await post('/datasets/lineage', request, { signal });
      return [...new Set(rows.map(({ row_digest }) => row_digest))];
    },
  });

/** Reads the first part of a file as an import would. Nothing is stored. */
export const previewQuery = (of: FileToImport | undefined) => {
  const { file, ...rest } = of ?? {};
  const { name, size, lastModified } = file ?? {};
  return queryOptions({
    queryKey: keys.importPreview(of?.project, { ...rest, name, size, lastModified }),
    queryFn: ({ signal }) => previewFile(of!, signal),
    staleTime: Infinity,
    gcTime: 0,
    structuralSharing: false,
    enabled: of !== undefined,
  });
};

/** The most uses of each kind that are read. */
export const MAX_USES = 100;

export interface Use {
  call: CallRow;
  how: string;
}

export const usesQuery = (project: string, ref: string, kind: 'object' | 'op') =>
  queryOptions({
    queryKey: keys.versionUses(project, ref),
    queryFn: ({ signal }) => findUses(project, ref, kind, signal),
  });

async function findUses(
  project_id: string,
  ref: string,
  kind: 'object' | 'op',
  signal: AbortSignal,
): Promise<Use[]> {
  const ways: [how: string, filter: Schema<'CallsFilterDto'>][] = [
    ['in its inputs', { input_refs: [ref] }],
    ['in its output', { output_refs: [ref] }],
  ];
  if (kind === 'op') ways.push(['runs it', { op_names: [ref] }]);
  const found = await Promise.all(
    ways.map(async ([how, filter]) => {
      const calls = await allLines(
        '/calls/stream_query',
        {
          project_id,
          filter,
          sort_by: [{ field: 'started_at', direction: 'desc' }],
          limit: MAX_USES,
          columns: ['summary', 'ended_at'],
        },
        signal,
      );
      return calls.map((call): Use => ({ call, how }));
    }),
  );
  return found
    .flat()
    .toSorted(({ call: a }, { call: b }) => (a.started_at < b.started_at ? 1 : -1));
}
