import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type CallRow, derivedSummary, callTokens } from '../api/calls.ts';
import { lines, post } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { opName } from '../ui/format.ts';
import type { CallStatus } from '../ui/Status.tsx';
import { type Span, makeTree } from './tree.ts';

/** What the tree shows of a call; its documents are read when it is chosen. */
export interface TraceSpan extends Span {
  status: CallStatus;
  opName: string;
  startedAt: string;
  threadId: string | null;
  latency: number | null;
  tokens: { input: number; output: number } | null;
}

/** The bound of what the page is made for. */
export const MOST_CALLS = 50_000;

const toSpan = (call: CallRow): TraceSpan => {
  const { status, latency_ms, trace_name } = derivedSummary(call);
  const start = precise(call.started_at);
  return {
    id: call.id,
    parentId: call.parent_id ?? null,
    name: trace_name || opName(call.op_name),
    start,
    end: call.ended_at ? start + (latency_ms ?? 0) : null,
    status,
    opName: call.op_name,
    startedAt: call.started_at,
    threadId: call.thread_id ?? null,
    latency: latency_ms,
    tokens: callTokens(call),
  };
};

/** Milliseconds with the microseconds of `…T01:02:03.456789Z`. */
const precise = (iso: string): number => Date.parse(iso) + Number(iso.slice(23, 26)) / 1000;

async function read(
  project_id: string,
  traceId: string,
  signal: AbortSignal,
): Promise<TraceSpan[]> {
  const spans: TraceSpan[] = [];
  const request = {
    project_id,
    filter: { trace_ids: [traceId] },
    columns: ['parent_id', 'thread_id', 'ended_at', 'summary'],
    limit: MOST_CALLS,
    include_costs: true,
  };
  for await (const some of lines('/calls/stream_query', request, signal))
    for (const call of some) spans.push(toSpan(call));
  return spans;
}

/** A trace as a tree. It grows while one looks, as long as something of it is new or runs. */
export function useTrace(project: string, traceId: string) {
  const query = useQuery({
    queryKey: ['trace', project, traceId],
    queryFn: ({ signal }) => read(project, traceId, signal),
    staleTime: Infinity,
  });
  const { data, refetch, dataUpdatedAt, isFetching } = query;
  useLive(project, ['calls'], async () => {
    // what is on its way may have been answered before the change
    const known = isFetching ? (await refetch({ cancelRefetch: false })).data : data;
    if (!known) return;
    const isRunning = known.some(({ end }) => end === null);
    if (isRunning || (await hasGrown(project, traceId, known.length))) await refetch();
  });
  const tree = useMemo(
    () => (data ? makeTree(data, dataUpdatedAt) : undefined),
    [data, dataUpdatedAt],
  );
  return { ...query, tree };
}

async function hasGrown(project_id: string, traceId: string, known: number): Promise<boolean> {
  const { count } = await post('/calls/query_stats', {
    project_id,
    filter: { trace_ids: [traceId] },
    limit: MOST_CALLS,
  });
  return count !== known;
}
