import { useQueries, useQueryClient } from '@tanstack/react-query';
import { post } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { wire } from '../api/wire.ts';

/** What people thought of a call, in short. */
export interface Remarks {
  up: number;
  down: number;
  others: number;
}

const MOST = 1000;

/** The feedback on calls of a project, by their ids; each group, of at most some hundreds, is asked for at once. */
export function useRemarks(project: string, groups: string[][]): Map<string, Remarks> {
  const client = useQueryClient();
  useLive(project, ['feedback'], () =>
    client.invalidateQueries({ queryKey: ['remarks', project] }),
  );
  return useQueries({
    queries: groups
      .filter((ids) => ids.length > 0)
      .map((ids) => ({
        queryKey: ['remarks', project, ids],
        queryFn: ({ signal }: { signal: AbortSignal }) => remarks(project, ids, signal),
      })),
    combine: together,
  });
}

const together = (results: { data?: Map<string, Remarks> | undefined }[]): Map<string, Remarks> =>
  new Map(results.flatMap(({ data }) => (data ? [...data.entries()] : [])));

async function remarks(project_id: string, ids: string[], signal: AbortSignal) {
  const prefix = `${wire.scheme}:///${project_id}/call/`;
  const refs = ids.map((id) => ({ $literal: prefix + id }));
  const { result } = await post(
    '/feedback/query',
    {
      project_id,
      fields: [wire.ref, 'feedback_type', 'payload.emoji'],
      query: { $expr: { $in: [{ $getField: wire.ref }, refs] } },
      limit: MOST,
    },
    { signal },
  );
  const found = new Map<string, Remarks>();
  for (const row of result as unknown as Record<string, string>[]) {
    const id = row[wire.ref]!.slice(prefix.length);
    const sum = found.get(id) ?? { up: 0, down: 0, others: 0 };
    const emoji =
      row['feedback_type'] === `${wire.feedback}.reaction.1` ? row['payload.emoji'] : '';
    if (emoji?.startsWith('👍')) sum.up++;
    else if (emoji?.startsWith('👎')) sum.down++;
    else sum.others++;
    found.set(id, sum);
  }
  return found;
}
