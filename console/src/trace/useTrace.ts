import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { callCost, type CallRow, derivedSummary, callTokens } from '../api/calls.ts';
import { streamLines, post, type RequestBody } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { opName } from '../ui/format.ts';
import type { CallStatus } from '../ui/Status.tsx';
import { type TreeSpan, makeTree } from './tree.ts';

/** The data of a call that the tree shows. Its documents are read when it is selected. */
export interface TraceSpan extends TreeSpan {
  status: CallStatus;
  opName: string;
  startedAt: string;
  threadId: string | null;
  /** The operation that the span reports. */
  operation: string | null;
  /** Null for a running call, and for one whose end is before its start. */
  latency: number | null;
  tokens: { input: number; output: number } | null;
  cost: number | null;
}

type CallsRequest = RequestBody<'/calls/stream_query'>;

/** The largest trace that the page is designed for. */
export const MOST_CALLS = 50_000;

const toSpan = (call: CallRow): TraceSpan => {
  const { status, latency_ms, trace_name } = derivedSummary(call);
  const start = precise(call.started_at);
  const latency = latency_ms !== null && latency_ms >= 0 ? latency_ms : null;
  return {
    id: call.id,
    parentId: call.parent_id ?? null,
    name: trace_name || opName(call.op_name),
    start,
    end: call.ended_at ? start + (latency ?? 0) : null,
    status,
    opName: call.op_name,
    startedAt: call.started_at,
    threadId: call.thread_id ?? null,
    operation: call.operation ?? null,
    latency,
    tokens: callTokens(call),
    cost: callCost(call),
  };
};

/** Milliseconds with fractions for the microseconds of `…T01:02:03.456789Z`. */
const precise = (iso: string): number => Date.parse(iso) + Number(iso.slice(23, 26)) / 1000;

const COLUMNS = ['parent_id', 'thread_id', 'ended_at', 'summary', 'operation'];

async function read(request: CallsRequest, signal?: AbortSignal): Promise<TraceSpan[]> {
  const spans: TraceSpan[] = [];
  const whole = { ...request, columns: COLUMNS, limit: MOST_CALLS, include_costs: true };
  for await (const some of streamLines('/calls/stream_query', whole, signal))
    for (const call of some) spans.push(toSpan(call));
  return spans;
}

/** The most running calls that are read again at a tick. The others are read with the whole trace. */
const MOST_RUNNING = 200;
/** Pause between two reads of the whole trace. */
const LEAST_BETWEEN_MS = 5000;

/**
 * Reads a trace as a tree that grows while it is shown. Each tick reads the calls that began after the last known one,
 * and those that were running.
 *
 * The whole trace is read again only when the count differs, because calls arrived late or were deleted. Large traces
 * are read less often.
 */
export function useTrace(project: string, traceId: string) {
  const client = useQueryClient();
  const queryKey = ['trace', project, traceId];
  const base = { project_id: project, filter: { trace_ids: [traceId] } };
  const lastWhole = useRef({ at: 0, took: 0 });
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const spans = await read(base, signal);
      const at = performance.now();
      lastWhole.current = { at, took: at - began };
      return spans;
    },
    staleTime: Infinity,
    structuralSharing: false,
  });
  const { data, refetch, dataUpdatedAt, isFetching } = query;
  useLive(project, ['calls'], async () => {
    // a read in progress may have been answered before the change
    const known = isFetching ? (await refetch({ cancelRefetch: false })).data : data;
    if (!known || known.length >= MOST_CALLS) return;
    const stored = async () =>
      (await post('/calls/query_stats', { ...base, limit: MOST_CALLS })).count;
    const before = await stored();
    const grown = await readOn(base, known);
    if (grown) client.setQueryData(queryKey, grown);
    const { length } = grown ?? known;
    // calls that arrive in the meantime are neither late nor deleted
    const isComplete = before === length || (before < length && (await stored()) >= length);
    const { at, took } = lastWhole.current;
    if (isComplete || performance.now() - at < Math.max(LEAST_BETWEEN_MS, 20 * took)) return;
    await refetch();
  });
  const tree = useMemo(
    () => (data ? makeTree(data, dataUpdatedAt) : undefined),
    [data, dataUpdatedAt],
  );
  return { ...query, tree };
}

/** Returns the known calls with later and newly ended ones; undefined when nothing has changed. */
async function readOn(
  base: { project_id: string; filter: { trace_ids: string[] } },
  known: TraceSpan[],
): Promise<TraceSpan[] | undefined> {
  const latest = known.reduce((last, { startedAt }) => (startedAt > last ? startedAt : last), '');
  const later = { $gte: [{ $getField: 'started_at' }, { $literal: latest }] };
  const running = known.filter(({ end }) => end === null).slice(-MOST_RUNNING);
  const reads = [
    read(known.length === 0 ? base : { ...base, query: { $expr: later } }),
    ...(running.length === 0
      ? []
      : [read({ ...base, filter: { ...base.filter, call_ids: running.map(({ id }) => id) } })]),
  ];
  const found = new Map((await Promise.all(reads)).flat().map((span) => [span.id, span]));
  const isNews = (span: TraceSpan) => {
    const now = found.get(span.id);
    return now !== undefined && (now.end !== span.end || now.status !== span.status);
  };
  const changed = known.some(isNews);
  const merged = known.map((span) => found.get(span.id) ?? span);
  const ids = new Set(known.map(({ id }) => id));
  const added = [...found.values()].filter(({ id }) => !ids.has(id));
  return changed || added.length > 0 ? [...merged, ...added] : undefined;
}
