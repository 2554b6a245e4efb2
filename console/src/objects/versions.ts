import { infiniteQueryOptions } from '@tanstack/react-query';
import { type RequestBody, post, type Schema, send } from '../api/client.ts';
import { wire } from '../api/wire.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { JsonIndex } from '../json/json-index.ts';

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
    queryKey: ['objects', project_id, filter, sort],
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

export const valueQuery = (project_id: string, { object_id, digest }: Version) => ({
  queryKey: ['object', project_id, object_id, digest],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<IndexedValue> => {
    const body = { project_id, object_id, digest };
    const response = await send('POST', '/obj/read', { body, signal });
    const index = await indexJson(await response.text(), signal);
    return { index, root: index.member(index.member(0, 'obj')!, 'val')! };
  },
  staleTime: Infinity,
  gcTime: 60_000,
  structuralSharing: false,
});
