import type { QueryClient } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import type { Remarks } from '../api/remarks.ts';
import { TAG } from '../api/tags.ts';
import { wire } from '../api/wire.ts';

/** Calls sent in one request. */
const AT_ONCE = 500;
const MOST_CHARACTERS = 64;
/** Characters of a feedback id. */
const MOST_ID = 256;

export const idBatches = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / AT_ONCE) }, (_, n) =>
    ids.slice(n * AT_ONCE, (n + 1) * AT_ONCE),
  );

export function tagFault(tag: string): string | undefined {
  if (/[\p{Cc}\p{Cs}]/u.test(tag)) return 'A tag must not have control characters.';
  const { length } = Array.from(tag);
  return length > MOST_CHARACTERS
    ? `A tag has at most ${MOST_CHARACTERS} characters. This one has ${length}.`
    : undefined;
}

/** The tags of the calls in view, sorted. */
export function seenTags(client: QueryClient, project: string): string[] {
  const shown = client.getQueriesData<ReadonlyMap<string, Remarks>>({
    queryKey: keys.remarks(project),
  });
  const all = shown.flatMap(([, calls]) => [...(calls?.values() ?? [])]);
  return [...new Set(all.flatMap(({ tags }) => [...tags]))].toSorted();
}

const refTo = (project: string, callId: string) => `${wire.scheme}:///${project}/call/${callId}`;

/**
 * The id of the feedback that is a tag. It consists of call id and tag, so the same tag is stored once, whoever gave
 * it. Undefined for call ids so long that the id has no room for the tag. The service then makes an id.
 */
function tagId(callId: string, tag: string): string | undefined {
  const id = `${wire.scheme}:tag:${callId.length}:${callId}:${tag}`;
  return id.length <= MOST_ID ? id : undefined;
}

/**
 * Adds a tag to calls.
 * @throws Error of the first refused call; the calls not refused have the tag
 */
export async function addTag(
  project_id: string,
  callIds: readonly string[],
  tag: string,
): Promise<void> {
  for (const ids of idBatches(callIds)) {
    const batch = ids.map((callId) => ({
      project_id,
      id: tagId(callId, tag),
      [wire.ref]: refTo(project_id, callId),
      feedback_type: TAG + tag,
      payload: { tag },
    }));
    // the generated schema does not describe the members of an item
    const { res } = await post('/feedback/batch/create', { batch: batch as object[] as [] });
    for (const one of res) if ('error' in one) throw new Error(one.error.detail);
  }
}

/** Removes a tag from calls, whoever gave it. */
export async function removeTag(
  project_id: string,
  callIds: readonly string[],
  tag: string,
): Promise<void> {
  for (const ids of idBatches(callIds)) {
    const refs = ids.map((id) => ({ $literal: refTo(project_id, id) }));
    const isTag = { $eq: [{ $getField: 'feedback_type' }, { $literal: TAG + tag }] };
    const isOfThem = { $in: [{ $getField: wire.ref }, refs] };
    const query = { $expr: { $and: [isOfThem, isTag] } };
    await post('/feedback/purge', { project_id, query });
  }
}
