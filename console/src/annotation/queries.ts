import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { type QueueItem, readSpec, type AnnotationSpec } from '../api/annotation.ts';
import { type Answer, get, post, send } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Problem } from '../api/problem.ts';
import { wire } from '../api/wire.ts';
import { readCall } from '../json/call-document.ts';

const MOST_GIVEN = 200;

const queuePath = (queueId: string, rest = '') =>
  `/annotation_queues/${encodeURIComponent(queueId)}${rest}`;

export const queueQuery = (project: string, queueId: string) =>
  queryOptions({
    queryKey: keys.queue(project, queueId),
    queryFn: async ({ signal }) => {
      const to = `${queuePath(queueId)}?project_id=${encodeURIComponent(project)}`;
      return (await get('/annotation_queues/{queue_id}', { to, signal })).queue;
    },
  });

export type QueueStat = Answer<'/annotation_queues/stats', 'post'>['stats'][number];

export const statsQuery = (project_id: string, queue_ids: string[]) =>
  queryOptions({
    queryKey: keys.queueStats(project_id, queue_ids),
    queryFn: async ({ signal }) =>
      (await post('/annotation_queues/stats', { project_id, queue_ids }, { signal })).stats,
  });

/** Reads the questions of a queue in their order. `spec` is null for an object that no longer exists. */
export const questionsQuery = (project: string, refs: readonly string[]) =>
  queryOptions({
    queryKey: keys.questions(project, refs),
    queryFn: ({ signal }) => Promise.all(refs.map((ref) => readQuestionSpec(project, ref, signal))),
  });

async function readQuestionSpec(
  project: string,
  ref: string,
  signal: AbortSignal,
): Promise<{ ref: string; spec: AnnotationSpec | null }> {
  const [, of, object_id, digest] =
    /^\w+:\/\/\/([^/]+\/[^/]+)\/object\/([^:]+):(.+)$/.exec(ref) ?? [];
  // annotations belong to objects of the same project only: the service accepts no others
  if (of !== project || object_id === undefined || digest === undefined) return { ref, spec: null };
  try {
    const { obj } = await post('/obj/read', { project_id: project, object_id, digest }, { signal });
    return { ref, spec: readSpec(ref, obj.val) };
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return { ref, spec: null };
    throw error;
  }
}

/** Reads an item by its id, or by its position in the queue, counted from 1. */
export async function readItem(
  project_id: string,
  queueId: string,
  which: { id: string } | { position: number },
  signal?: AbortSignal,
): Promise<QueueItem | null> {
  const chosen = 'id' in which ? { filter: which } : { offset: which.position - 1 };
  const { items } = await post(
    '/annotation_queues/{queue_id}/items/query',
    { project_id, ...chosen, limit: 1, include_position: true },
    { to: queuePath(queueId, '/items/query'), ...(signal && { signal }) },
  );
  return items[0] ?? null;
}

/** Begins the next free item, or returns the item that the user has begun. A repeated request returns the same item. */
export async function beginNext(
  project_id: string,
  queueId: string,
  signal?: AbortSignal,
): Promise<QueueItem | null> {
  const to = queuePath(queueId, '/items/next');
  const options = { to, ...(signal && { signal }) };
  return (await post('/annotation_queues/{queue_id}/items/next', { project_id }, options)).item;
}

const SEEN_MS = 60_000;

/** Reads an item. Without an id it begins the next one, and for a reader it reads the first one. */
export const itemQuery = (
  project: string,
  queueId: string,
  { itemId, isWriter }: { itemId: string | undefined; isWriter: boolean },
) =>
  queryOptions({
    queryKey: keys.queueItem(project, queueId, itemId ?? 'next'),
    queryFn: ({ signal }) => {
      if (itemId !== undefined) return readItem(project, queueId, { id: itemId }, signal);
      return isWriter
        ? beginNext(project, queueId, signal)
        : readItem(project, queueId, { position: 1 }, signal);
    },
    // a refetch when the window gets the focus would begin another item
    refetchOnWindowFocus: false,
    // an item may have been judged since it was last shown, and the next item is requested each time
    staleTime: 0,
    gcTime: itemId === undefined ? 0 : SEEN_MS,
    placeholderData: keepPreviousData,
  });

const MOST_ITEMS = 10_000;

export const itemsQuery = (project: string, queueId: string) =>
  queryOptions({
    queryKey: keys.queueProgress(project, queueId),
    queryFn: ({ signal }) => readItems(project, queueId, signal),
    staleTime: 0,
  });

async function readItems(
  project_id: string,
  queueId: string,
  signal: AbortSignal,
): Promise<QueueItem[]> {
  const to = queuePath(queueId, '/items/query');
  const annotation_states = ['in_progress' as const, 'completed' as const, 'skipped' as const];
  const body = { project_id, filter: { annotation_states }, limit: MOST_ITEMS };
  return (await post('/annotation_queues/{queue_id}/items/query', body, { to, signal })).items;
}

export const callRef = (project: string, callId: string): string =>
  `${wire.scheme}:///${project}/call/${callId}`;

export const answersQuery = (project: string, item: QueueItem, user: string) =>
  queryOptions({
    queryKey: keys.answers(item.id, user),
    queryFn: ({ signal }) => readAnswers(project, item, user, signal),
  });

/** Reads the latest values that a person gave for a call in a queue, keyed by the name of the question. */
async function readAnswers(
  project_id: string,
  { call_id, queue_id }: QueueItem,
  user: string,
  signal: AbortSignal,
): Promise<Map<string, unknown>> {
  const is = (field: string, value: string) => ({
    $eq: [{ $getField: field }, { $literal: value }],
  });
  const conditions = [
    is(wire.ref, callRef(project_id, call_id)),
    is('queue_id', queue_id),
    is(wire.userId, user),
  ];
  const { result } = await post(
    '/feedback/query',
    {
      project_id,
      query: { $expr: { $and: conditions } },
      sort_by: [{ field: 'created_at', direction: 'asc' }],
      limit: MOST_GIVEN,
    },
    { signal },
  );
  const prefix = `${wire.feedback}.annotation.`;
  const given = new Map<string, unknown>();
  for (const { feedback_type, payload } of result as {
    feedback_type: string;
    payload: { value?: unknown };
  }[])
    if (feedback_type.startsWith(prefix))
      given.set(feedback_type.slice(prefix.length), payload.value);
  return given;
}

export const queuedCallQuery = (project: string, callId: string) =>
  queryOptions({
    queryKey: keys.queuedCall(project, callId),
    queryFn: ({ signal }) => readCall(project, callId, signal),
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
  });

/** Completes or skips an item. When the item has ended before, the service refuses this end and keeps the first one. */
export async function finish(item: QueueItem, state: 'completed' | 'skipped'): Promise<void> {
  try {
    await post(
      '/annotation_queues/{queue_id}/items/{item_id}/progress',
      { project_id: item.project_id, annotation_state: state },
      { to: queuePath(item.queue_id, `/items/${encodeURIComponent(item.id)}/progress`) },
    );
  } catch (error) {
    const isDone =
      error instanceof Problem && error.violations.some(({ path }) => path === 'annotation_state');
    if (!isDone) throw error;
  }
}

/** True when the same request may succeed later: the service was not reached, or it is overloaded. */
export const isTransient = (error: unknown): boolean =>
  error instanceof Problem && [0, 429, 502, 503, 504].includes(error.status);

export async function changeQueue(
  project_id: string,
  queueId: string,
  body: { name: string; description: string; scorer_refs: string[] },
): Promise<void> {
  await send('PUT', queuePath(queueId), { body: { project_id, ...body } });
}

export async function deleteQueue(project: string, queueId: string): Promise<void> {
  await send('DELETE', `${queuePath(queueId)}?project_id=${encodeURIComponent(project)}`);
}
