import { copyInto, CopyRows, microsecondsOf } from '../../../platform/query/binary-copy.js';
import { PRODUCTION } from '../../conventions/call-source.js';
import type { CallWrite } from './calls.upsert.js';

/** Columns in the order in which `addRow` writes them. */
const COPY = copyInto('calls', [
  'project_id',
  'id',
  'is_opaque',
  'op_name',
  'started_at',
  'display_name',
  'trace_id',
  'parent_id',
  'is_orphan',
  'thread_id',
  'turn_id',
  'thread_source',
  'run_id',
  'run_step',
  'user_id',
  'counts_gross',
  'has_unread_usage',
  'operation',
  'agent_name',
  'agent_version',
  'linked_call_id',
  'attributes',
  'inputs',
  'otel_dump',
  'ended_at',
  'exception',
  'run_step_end',
  'has_descendant_error',
  'response_id',
  'summary',
  'output',
  'usage',
  'source',
  'own_source',
]);

/**
 * True if the write alone decides what is stored of the call, as long as the call is not stored yet. COPY writes no
 * event times.
 */
export const isWholeCall = ({ start }: CallWrite): boolean =>
  start !== undefined && !start.event_times && Boolean(start.trace_id || !start.parent_id);

/** Bytes of a row in addition to its documents and its exception. */
const ROW_BYTES = 512;

/**
 * Makes rows for calls that are not stored yet, with the values that `upsertQuery` would store. `left` are the writes
 * that must be upserted: they are not whole, or only PostgreSQL can read their date-times.
 */
export function copyCalls(
  writes: readonly CallWrite[],
  bytes: number,
): { rows: CopyRows; left: CallWrite[] } {
  const rows = new CopyRows(COPY, bytes + ROW_BYTES * writes.length);
  const left = writes.filter((write) => !addRow(rows, write));
  return { rows, left };
}

function addRow(rows: CopyRows, write: CallWrite): boolean {
  const { start, end } = write;
  if (!isWholeCall(write)) return false;
  const startedAt = microsecondsOf(start!.started_at!);
  const endedAt = end ? microsecondsOf(end.ended_at!) : null;
  if (startedAt === undefined || endedAt === undefined) return false;
  rows.begin();
  rows.text(write.projectId);
  rows.text(write.id);
  rows.boolean(write.isOpaque);
  rows.text(start!.op_name);
  rows.timestamp(startedAt);
  rows.text(start!.display_name);
  rows.text(traceOf(write));
  rows.text(start!.parent_id);
  rows.boolean(start!.is_orphan === 'true');
  rows.text(start!.thread_id);
  rows.text(start!.turn_id);
  rows.text(start!.thread_source);
  rows.text(start!.run_id);
  rows.int32(step(start!.run_step));
  rows.text(start!.user_id);
  rows.boolean(start!.counts_gross === 'true');
  rows.boolean(false);
  rows.text(start!.operation);
  rows.text(start!.agent_name);
  rows.text(start!.agent_version);
  rows.text(start!.linked_call_id);
  rows.text(start!.attributes);
  rows.text(start!.inputs);
  rows.text(start!.otel_dump);
  rows.timestamp(endedAt);
  rows.text(end?.exception);
  rows.int32(step(end?.run_step_end));
  rows.boolean(end?.has_descendant_error === 'true');
  rows.text(end?.response_id);
  rows.text(end?.summary);
  rows.text(end?.output);
  rows.text(end?.usage);
  rows.text(sourceOrProduction(write));
  rows.text(start!.own_source);
  return true;
}

/** Returns the trace of a call that is not stored yet. */
export const traceOf = ({ start, end }: CallWrite) =>
  start?.trace_id ?? end?.end_trace_id ?? start?.new_trace;

export const sourceOrProduction = ({ start }: CallWrite) => start?.source ?? PRODUCTION;

const step = (text: string | null | undefined) =>
  text === null || text === undefined ? null : Number(text);
