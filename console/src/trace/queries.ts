import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import {
  callCost,
  type CallRow,
  callTokens,
  type DerivedSummary,
  derivedSummary,
} from '../api/calls.ts';
import { allLines, post, type RequestBody, type Schema, streamLines } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { useLive } from '../api/live.ts';
import { wire } from '../api/wire.ts';
import { readCall } from '../json/call-document.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { opName } from '../ui/format.ts';
import { type TreeSpan, makeTree } from './tree.ts';

/** The data of a call that the tree shows. Its documents are read when it is selected. */
export interface TraceSpan extends TreeSpan {
  status: DerivedSummary['status'];
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

/** Reads where a call says some texts. Nothing without a text. */
export const callMatchesQuery = (project_id: string, id: string, texts: string[]) =>
  queryOptions({
    queryKey: keys.callMatches(project_id, id, texts),
    queryFn: ({ signal }) => {
      const body = { project_id, call_ids: [id], texts, case_insensitive: true };
      return post('/calls/matches', body, { signal });
    },
    enabled: texts.length > 0,
    retry: false,
  });

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
  const queryKey = keys.trace(project, traceId);
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

/** Reads the root of a trace with tokens and costs of all its calls. `told` is the number of calls with tokens. */
export const traceSpendingQuery = (project: string, traceId: string, told: number) =>
  queryOptions({
    queryKey: keys.traceSpending(project, traceId, told),
    queryFn: async ({ signal }) => {
      const request = {
        project_id: project,
        filter: { trace_ids: [traceId], trace_roots_only: true },
        columns: ['summary'],
        include_costs: true,
        include_trace_totals: true,
        limit: 1,
      };
      return (await allLines('/calls/stream_query', request, signal))[0] ?? null;
    },
    enabled: told > 0,
    placeholderData: (before) => before,
    gcTime: 0,
  });

/** Reads the documents of a call, and again when it has ended. */
export const callQuery = (project: string, { id, end }: TraceSpan) =>
  queryOptions({
    queryKey: keys.call(project, id, end),
    queryFn: ({ signal }) => readCall(project, id, signal),
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
    placeholderData: (before) => before,
  });

export const comparedCallQuery = (project: string, id: string | undefined) =>
  queryOptions({
    queryKey: keys.comparedCall(project, id),
    queryFn: ({ signal }) => readCall(project, id!, signal),
    enabled: id !== undefined,
    gcTime: 60_000,
    structuralSharing: false,
  });

/** Reads the id of the previous call of the same op, by start. `index` has the documents of the call. */
export const callBeforeQuery = (project: string, id: string, index: JsonIndex) =>
  queryOptions({
    queryKey: keys.callBefore(project, id),
    queryFn: ({ signal }) => callBefore(project, index, signal),
    staleTime: Infinity,
  });

async function callBefore(
  project_id: string,
  index: JsonIndex,
  signal: AbortSignal,
): Promise<string | null> {
  const call = index.member(0, 'call')!;
  const value = (name: string) => JSON.parse(index.nodeText(index.member(call, name)!)) as string;
  const request = {
    project_id,
    filter: { op_names: [value('op_name')] },
    query: { $expr: { $lt: [{ $getField: 'started_at' }, { $literal: value('started_at') }] } },
    sort_by: [{ field: 'started_at', direction: 'desc' as const }],
    limit: 1,
    columns: ['id'],
  };
  const [found] = await allLines('/calls/stream_query', request, signal);
  return found?.id ?? null;
}

export const costsQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: keys.costs(project, id),
    queryFn: async ({ signal }) => {
      const body = { project_id: project, call_ids: [id] };
      const { calls } = await post('/cost/explain', body, { signal });
      return calls[0]?.models ?? [];
    },
  });

export type GivenFeedback = Schema<'FeedbackDto'>;

const MAX_FEEDBACK = 200;

/** Reads the feedback on a call, newest first. */
export const feedbackQuery = (project: string, ref: string) =>
  queryOptions({
    queryKey: keys.feedback(ref),
    queryFn: async ({ signal }): Promise<GivenFeedback[]> => {
      const { result } = await post(
        '/feedback/query',
        {
          project_id: project,
          query: { $expr: { $eq: [{ $getField: wire.ref }, { $literal: ref }] } },
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: MAX_FEEDBACK,
        },
        { signal },
      );
      return result as GivenFeedback[]; // whole rows, because the request names no `fields`
    },
  });
