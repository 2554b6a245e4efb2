import { queryOptions } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { VIEW_CLASS } from '../api/object-classes.ts';
import { type TracesSearch, tracesSearch } from './request.ts';

// not in queries.ts, since the first load of the page is limited and views are opened later

/** Each view is an object of its own, so that it has versions and a history. */
interface SavedView {
  object_id: string;
  label: string;
  search: TracesSearch;
}

export const viewsQuery = (project: string) =>
  queryOptions({
    queryKey: keys.views(project),
    queryFn: ({ signal }) => readViews(project, signal),
  });

async function readViews(project_id: string, signal: AbortSignal): Promise<SavedView[]> {
  const { objs } = await post(
    '/objs/query',
    { project_id, filter: { latest_only: true, base_object_classes: [VIEW_CLASS] }, limit: 200 },
    { signal },
  );
  return objs.map(({ object_id, val }) => {
    const { label, search } = (val ?? {}) as { label?: unknown; search?: object };
    return {
      object_id,
      label: typeof label === 'string' ? label : object_id,
      search: tracesSearch({ ...search }),
    };
  });
}
