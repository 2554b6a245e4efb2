import { traceOf } from './calls.copy.js';
import type { CallWrite } from './calls.upsert.js';
import type { TreePosition } from './orphans.query.js';

/** `areNew` is true if the calls are probably not stored yet. If false, calls with these ids may be stored. */
interface NewCallsHint {
  areNew: boolean;
}

/**
 * Returns the ids of calls whose stored position `markOrphans` and `resolveSources` need. For new calls these are the
 * calls above that are not in the batch.
 */
export function positionsToRead(writes: readonly CallWrite[], { areNew }: NewCallsHint): string[] {
  const batch = byId(writes);
  const ids = new Set<string>();
  for (const write of writes) {
    const { start } = write;
    if (!start) continue;
    const { parent_id: parentId, linked_call_id: linkedId } = start;
    if (parentId && !(areNew && isBatchParent(write, batch.get(parentId)))) ids.add(parentId);
    if (linkedId && !batch.has(linkedId)) ids.add(linkedId);
    if (!areNew) ids.add(write.id);
  }
  return [...ids];
}

/**
 * Sets `is_orphan` for each start in the batch whose parent is missing: not visible in its trace, neither stored nor in
 * the batch. It may mark a call whose parent exists, which readers detect, but never leaves an orphan unmarked
 * (`isRoot`).
 * In a circle within the batch it marks the call that began first. It also marks a call that gets another parent, since
 * that may close a circle of stored calls.
 */
export function markOrphans(
  writes: readonly CallWrite[],
  stored: ReadonlyMap<string, TreePosition>,
): void {
  const batch = byId(writes);
  const inBatch = new Map<CallWrite, CallWrite>();
  for (const write of writes) {
    const { start } = write;
    if (!start?.parent_id) continue;
    const parent = batch.get(start.parent_id);
    const place = stored.get(start.parent_id);
    if (isBatchParent(write, parent) && !place?.is_deleted) inBatch.set(write, parent!);
    const hasParent = inBatch.has(write) || isStoredParent(write, place);
    start.is_orphan = hasParent && !hasMoved(write, stored.get(write.id)) ? null : 'true';
  }
  for (const write of cycleHeads(inBatch)) write.start!.is_orphan = 'true';
}

/** Returns calls that leave the trace in which they are stored. Calls below them may stay there. */
export const leavingTrace = (
  writes: readonly CallWrite[],
  stored: ReadonlyMap<string, TreePosition>,
): string[] =>
  writes.flatMap(({ id, start }) => {
    const place = stored.get(id);
    const isLeaving = hasStarted(place) && start?.trace_id && start.trace_id !== place.trace_id;
    return isLeaving ? [id] : [];
  });

const byId = (writes: readonly CallWrite[]) => new Map(writes.map((write) => [write.id, write]));

const isBatchParent = (write: CallWrite, parent: CallWrite | undefined): boolean =>
  parent?.start !== undefined && parent !== write && traceOf(parent) === traceOf(write);

const isStoredParent = ({ id, start }: CallWrite, place: TreePosition | undefined): boolean =>
  hasStarted(place) &&
  !place.is_deleted &&
  place.id !== id &&
  (!start!.trace_id || place.trace_id === start!.trace_id);

export const hasStarted = (place: TreePosition | undefined): place is TreePosition =>
  place !== undefined && place.op_name !== null;

const hasMoved = ({ start }: CallWrite, place: TreePosition | undefined): boolean =>
  hasStarted(place) && place.parent_id !== start!.parent_id;

/** Returns the first call of each circle of parents. Takes linear time. */
function cycleHeads(parents: ReadonlyMap<CallWrite, CallWrite>): CallWrite[] {
  const firsts: CallWrite[] = [];
  const seen = new Map<CallWrite, CallWrite>();
  for (const from of parents.keys()) {
    let at: CallWrite | undefined = from;
    for (; at && !seen.has(at); at = parents.get(at)) seen.set(at, from);
    if (!at || seen.get(at) !== from) continue;
    let first = at;
    for (let one = parents.get(at)!; one !== at; one = parents.get(one)!)
      if (hasBegunBefore(one, first)) first = one;
    firsts.push(first);
  }
  return firsts;
}

function hasBegunBefore(a: CallWrite, b: CallWrite): boolean {
  const [first, second] = [Date.parse(a.start!.started_at!), Date.parse(b.start!.started_at!)];
  return first < second || (first === second && a.id < b.id);
}
