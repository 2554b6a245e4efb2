import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { post } from './client.ts';
import { keys } from './keys.ts';
import { useReread } from './live-list.ts';
import { useLive } from './live.ts';
import { tagOf } from './tags.ts';
import { wire } from './wire.ts';

export interface Remarks {
  up: number;
  down: number;
  others: number;
  tags: Set<string>;
}

/** Some clients give a call a dozen scores. */
const MAX_FEEDBACK = 10_000;
const NONE: ReadonlyMap<string, Remarks> = new Map();

/** Reads the feedback on some calls of a project, keyed by call id. Takes some hundreds of ids at most. */
export function useRemarks(project: string, ids: string[]): ReadonlyMap<string, Remarks> {
  const queryKey = keys.remarks(project, ids);
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readRemarks(project, ids, signal),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    structuralSharing: false,
    gcTime: 0,
  });
  useLive(project, ['feedback'], useReread(queryKey));
  return data ?? NONE;
}

async function readRemarks(project_id: string, ids: string[], signal: AbortSignal) {
  const prefix = `${wire.scheme}:///${project_id}/call/`;
  const refs = ids.map((id) => ({ $literal: prefix + id }));
  const { result } = await post(
    '/feedback/query',
    {
      project_id,
      fields: [wire.ref, 'feedback_type', 'payload.emoji'],
      query: { $expr: { $in: [{ $getField: wire.ref }, refs] } },
      limit: MAX_FEEDBACK,
    },
    { signal },
  );
  const found = new Map<string, Remarks>();
  for (const row of result as Record<string, string>[]) {
    const id = row[wire.ref]!.slice(prefix.length);
    const sum = found.get(id) ?? { up: 0, down: 0, others: 0, tags: new Set() };
    const tag = tagOf(row['feedback_type']!);
    const emoji =
      row['feedback_type'] === `${wire.feedback}.reaction.1` ? row['payload.emoji'] : '';
    if (emoji?.startsWith('👍')) sum.up++;
    else if (emoji?.startsWith('👎')) sum.down++;
    else if (tag !== undefined) sum.tags.add(tag);
    else sum.others++;
    found.set(id, sum);
  }
  return found;
}
