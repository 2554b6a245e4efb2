import type { CallRow } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import {
  type CallsRequest,
  beforeRequest,
  NEWEST_FIRST,
  PAGE,
  pageRequest,
  sinceRequest,
} from './request.ts';

/** Calls that are looked at, from where a page begins, for those whose parent is not stored: no index finds these. */
const LOOKED_AT = 5000;
/** Of these at most so many are taken, and of so many traces. */
const MOST_ORPHANS = 1000;
const MOST_TRACES = PAGE;

const read = (request: CallsRequest, signal: AbortSignal) =>
  allLines('/calls/stream_query', request, signal);
const BRIEF = { columns: ['parent_id'], sort_by: NEWEST_FIRST };

interface Order {
  behind: CallRow | undefined;
  withSizes: boolean;
}

/**
 * A page of roots, and among them the first call of each trace of which no root is stored, as far as the calls from the beginning of
 * the page on are looked at. `onCut` is called when these were too few.
 */
export async function readTraces(
  chosen: CallsRequest,
  { before, onCut, ...order }: Order & { before?: string; onCut: () => void },
  signal: AbortSignal,
): Promise<CallRow[]> {
  const [roots, [lastLookedAt]] = await Promise.all([
    read(pageRequest(chosen, order), signal),
    read(lastToLookAt(chosen, order.behind?.started_at ?? before), signal),
  ]);
  const last = roots.length < PAGE ? undefined : roots.at(-1)!;
  const isCut = lastLookedAt !== undefined && !(last && isNewer(last, lastLookedAt));
  const { firsts, until } = await orphans(chosen, order, isCut ? lastLookedAt : last, signal);
  const all = [...roots, ...firsts].toSorted(newestFirst);
  const upTo = until ? all.filter((row) => !isNewer(until, row)) : all;
  if (until && upTo.length >= PAGE) return upTo; // the next page goes on there
  if (isCut || until) onCut();
  return all;
}

function lastToLookAt({ project_id }: CallsRequest, newest: string | undefined): CallsRequest {
  const calls = newest === undefined ? { project_id } : beforeRequest({ project_id }, newest);
  return { ...calls, ...BRIEF, limit: 1, offset: LOOKED_AT - 1 };
}

const isNewer = (a: CallRow, b: CallRow) =>
  a.started_at > b.started_at || (a.started_at === b.started_at && a.id > b.id);
const newestFirst = (a: CallRow, b: CallRow) => (isNewer(a, b) ? -1 : 1);

/** The first calls of traces without a root, down to the end of a page; or `until` a call, where there are more of them. */
async function orphans(
  chosen: CallsRequest,
  order: Order,
  end: CallRow | undefined,
  signal: AbortSignal,
): Promise<{ firsts: CallRow[]; until?: CallRow | undefined }> {
  const { project_id } = chosen;
  const those: CallsRequest = { ...chosen, filter: { orphans_only: true } };
  const inPage = end ? sinceRequest(those, end.started_at) : those;
  const found = (
    await read({ ...pageRequest(inPage, order), ...BRIEF, limit: MOST_ORPHANS }, signal)
  ).filter((call) => !end || isNewer(call, end));
  const trace_ids = [...new Set(found.map(({ trace_id }) => trace_id))].slice(0, MOST_TRACES);
  if (trace_ids.length === 0) return { firsts: [] };
  const taken = found.filter(({ trace_id }) => trace_ids.includes(trace_id));
  const [roots, oldestFirst] = await Promise.all([
    read({ project_id, filter: { trace_ids, trace_roots_only: true }, ...BRIEF }, signal),
    read(
      {
        ...those,
        filter: { ...those.filter, trace_ids },
        columns: BRIEF.columns,
        limit: MOST_ORPHANS,
      },
      signal,
    ),
  ]);
  const first = new Map<string, string | undefined>();
  for (const { trace_id } of roots) first.set(trace_id, undefined);
  for (const { id, trace_id } of oldestFirst) if (!first.has(trace_id)) first.set(trace_id, id);
  const call_ids = taken.flatMap(({ id, trace_id }) => (first.get(trace_id) === id ? id : []));
  const { withSizes } = order;
  const firsts =
    call_ids.length === 0
      ? []
      : await read(pageRequest({ project_id, filter: { call_ids } }, { withSizes }), signal);
  const isAll = taken.length === found.length && found.length < MOST_ORPHANS;
  return { firsts, until: isAll ? undefined : taken.at(-1) };
}
