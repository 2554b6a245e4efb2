import type { TimeSpan } from '../../statistics/time-buckets.js';
import { SLOT_MS } from './call-slots.query.js';

const iso = (ms: number) => new Date(ms).toISOString();

/** Returns the range of whole slots in a window, in milliseconds. Null if it has none. */
export function slotsWithin(start: Date, end: Date): { since: number; until: number } | null {
  const since = Math.ceil(+start / SLOT_MS) * SLOT_MS;
  const until = Math.floor(+end / SLOT_MS) * SLOT_MS;
  return since < until ? { since, until } : null;
}

/**
 * Splits a window into spans whose calls are read and spans with stored statistics. `slots` and the edges of the window
 * are among the first. `start` and `end` are exact texts. `slots` must be sorted by time.
 */
export function splitWindow(
  { since: start, until: end }: TimeSpan,
  whole: { since: number; until: number },
  slots: readonly number[],
): { fresh: TimeSpan[]; stored: TimeSpan[] } {
  const fresh: TimeSpan[] = [{ since: start, until: iso(whole.since) }];
  const stored: TimeSpan[] = [];
  let at = whole.since;
  for (const slot of slots) {
    if (slot > at) stored.push({ since: iso(at), until: iso(slot) });
    const last = fresh.at(-1)!;
    if (last.until === iso(slot)) last.until = iso(slot + SLOT_MS);
    else fresh.push({ since: iso(slot), until: iso(slot + SLOT_MS) });
    at = slot + SLOT_MS;
  }
  if (at < whole.until) stored.push({ since: iso(at), until: iso(whole.until) });
  const last = fresh.at(-1)!;
  if (last.until === iso(whole.until)) last.until = end;
  else fresh.push({ since: iso(whole.until), until: end });
  return { fresh, stored };
}
