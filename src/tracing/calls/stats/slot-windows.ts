import { SLOT_MS } from './call-slots.query.js';
import type { TimeSpan } from './call-stats.query.js';

const iso = (ms: number) => new Date(ms).toISOString();

/** The whole slots of a window, in milliseconds; null when there are none. */
export function slotsWithin(start: Date, end: Date): { since: number; until: number } | null {
  const since = Math.ceil(+start / SLOT_MS) * SLOT_MS;
  const until = Math.floor(+end / SLOT_MS) * SLOT_MS;
  return since < until ? { since, until } : null;
}

/**
 * Which parts of a window are read call by call, the edges and some slots among them, and which have stored statistics.
 * `start` and `end` are exact texts; the slots have the order of time.
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
