import type { ThreadsQueryDto } from '../../src/tracing/threads/threads.dto.js';

/** The members of a call that thread statistics need. Times are microseconds since 1970. */
export interface StoredCall {
  id: string;
  turn_id: string | null;
  thread_id: string | null;
  op_name: string | null;
  started: number | null;
  ended: number | null;
  is_deleted: boolean;
}

export const STORED_CALLS = `
  SELECT id, turn_id, thread_id, op_name, deleted_at IS NOT NULL AS is_deleted,
    (extract(epoch FROM started_at) * 1000000)::float8 AS started, (extract(epoch FROM ended_at) * 1000000)::float8 AS ended
  FROM calls WHERE project_id = $1`;

export type ThreadsRequest = Omit<ThreadsQueryDto, 'project_id'>;

/** Computes the expected answer of `/threads/stream_query` from all calls. */
export function threadsOf(calls: StoredCall[], request: ThreadsRequest = {}): object[] {
  const { filter, sort_by, limit, offset } = request;
  const after = filter?.after_datetime ? Date.parse(filter.after_datetime) * 1000 : -Infinity;
  const before = filter?.before_datetime ? Date.parse(filter.before_datetime) * 1000 : Infinity;
  const listed = filter?.thread_ids?.length ? filter.thread_ids : undefined;
  const turns = calls.filter(
    (call) =>
      call.id === call.turn_id &&
      call.thread_id &&
      call.op_name !== null &&
      !call.is_deleted &&
      call.started! > after &&
      call.started! < before &&
      (!listed || listed.includes(call.thread_id)),
  );
  const threads = new Map<string, StoredCall[]>();
  for (const turn of turns)
    threads.set(turn.thread_id!, [...(threads.get(turn.thread_id!) ?? []), turn]);
  const sorts = sort_by?.length ? sort_by : [{ field: 'last_updated', direction: 'desc' as const }];
  return [...threads]
    .map(([id, ofThread]) => statisticsOf(id, ofThread))
    .toSorted((a: any, b: any) => {
      for (const { field, direction } of [
        ...sorts,
        { field: 'thread_id', direction: 'asc' as const },
      ]) {
        const order = compared(a[field], b[field], direction);
        if (order !== 0) return order;
      }
      return 0;
    })
    .slice(offset ?? 0, (offset ?? 0) + (limit ?? Infinity));
}

function statisticsOf(thread_id: string, turns: StoredCall[]) {
  const sign = ({ ended, started }: StoredCall) => ended ?? started!;
  const first = turns.toSorted((a, b) => a.started! - b.started! || compared(a.id, b.id))[0]!;
  const last = turns.toSorted((a, b) => sign(b) - sign(a) || compared(a.id, b.id))[0]!;
  const durations = turns
    .filter(({ started, ended }) => ended !== null && ended >= started!)
    .map(({ ended, started }) => (ended! - started!) / 1000)
    .toSorted((a, b) => a - b);
  return {
    thread_id,
    turn_count: turns.length,
    start_time: wireTime(first.started!),
    last_updated: wireTime(sign(last)),
    first_turn_id: first.id,
    last_turn_id: last.id,
    p50_turn_duration_ms: percentile(durations, 0.5),
    p99_turn_duration_ms: percentile(durations, 0.99),
  };
}

/** Interpolates linearly between the two values next to the rank. */
function percentile(sorted: number[], share: number): number | null {
  if (sorted.length === 0) return null;
  const rank = share * (sorted.length - 1);
  const low = sorted[Math.floor(rank)]!;
  const high = sorted[Math.ceil(rank)]!;
  return low + (rank - Math.floor(rank)) * (high - low);
}

const wireTime = (micros: number) =>
  new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1) +
  `${String(((micros % 1000) + 1000) % 1000).padStart(3, '0')}Z`;

/** Compares texts by code point. Null comes last in both directions. */
function compared(a: any, b: any, direction: 'asc' | 'desc' = 'asc'): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : a - b;
  return direction === 'asc' ? order : -order;
}
