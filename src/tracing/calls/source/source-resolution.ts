import { sourceOrProduction } from '../ingest/calls.copy.js';
import type { CallWrite } from '../ingest/calls.upsert.js';
import { hasStarted } from '../ingest/orphans.js';
import type { TreePosition } from '../ingest/orphans.query.js';
import { type CallSource, PRODUCTION } from '../../conventions/call-source.js';

type TreePositions = ReadonlyMap<string, TreePosition>;

/**
 * Sets the source of each start in the batch: its own, else that of the parent, else that of the call of another trace
 * in which it ran. The calls above are found in the batch or in `stored`. A call whose parent is gone keeps the source
 * that it had.
 */
export function resolveSources(writes: readonly CallWrite[], stored: TreePositions): void {
  if (writes.every((write) => saysNothing(write) && isBelowProduction(write, stored))) return;
  const batch = new Map(writes.map((write) => [write.id, write]));
  const found = new Map<string, CallSource | undefined>();
  const sourceAt = (id: string | null | undefined): CallSource | undefined => {
    if (!id) return undefined;
    if (found.has(id)) return found.get(id);
    found.set(id, undefined); // ends the recursion if the parents form a circle
    const write = batch.get(id);
    const place = stored.get(id);
    const source = write?.start ? take(write, place) : hasStarted(place) ? place.source : undefined;
    found.set(id, source);
    return source;
  };
  const take = ({ start }: CallWrite, place: TreePosition | undefined): CallSource => {
    if (start!.own_source) return start!.own_source as CallSource;
    const above = [start!.parent_id, start!.linked_call_id].filter(Boolean).map(sourceAt);
    const other = above.find((source) => source !== undefined && source !== PRODUCTION);
    if (other) return other;
    const isKept = above.includes(undefined) && isBelowTheSame(place, start!.parent_id);
    return isKept ? place!.source : PRODUCTION;
  };
  for (const { id, start } of writes) {
    if (!start) continue;
    const source = sourceAt(id)!;
    start.source = source === PRODUCTION ? null : source;
  }
}

/**
 * Returns true if the write has another source than the stored call. The sources of the calls below may then change
 * too.
 */
export function isSourceChanged(write: CallWrite, stored: TreePositions): boolean {
  const place = stored.get(write.id);
  const before = hasStarted(place) ? place.source : PRODUCTION;
  return write.start !== undefined && sourceOrProduction(write) !== before;
}

/** Returns true if a call above decides the source of the write. That source may change at the same time. */
export const takesSource = ({ start }: CallWrite): boolean =>
  Boolean(start && !start.own_source && (start.parent_id || start.linked_call_id));

const saysNothing = ({ start }: CallWrite) => !start?.own_source;

/** True if the stored call and the stored calls above it are all of production. */
const isBelowProduction = ({ id, start }: CallWrite, stored: TreePositions) =>
  [id, start?.parent_id, start?.linked_call_id].every((one) => {
    const place = one ? stored.get(one) : undefined;
    return place === undefined || place.source === PRODUCTION;
  });

const isBelowTheSame = (place: TreePosition | undefined, parentId: string | null | undefined) =>
  hasStarted(place) && place.own_source === null && place.parent_id === (parentId ?? null);
