import { LRUCache } from 'lru-cache';

/** Refusals of an entity that are answered at once, and per second after these. */
const AT_ONCE = 20;
const PER_SECOND = 20;
const MAX_WAIT_MS = 5000;
const MAX_ENTITIES = 10_000;

const STEP_MS = 1000 / PER_SECOND;

/** Time of the last answer to a refusal, which may lie ahead; keyed by entity. */
const turns = new LRUCache<string, number>({ max: MAX_ENTITIES });

/**
 * Returns how long the answer to a refusal waits. A client that sends again at once, instead of after `Retry-After`,
 * would otherwise keep the process busy with refusals. Each waiting answer has a connection, and these are bounded.
 */
export function refusalWaitMs(entity: string): number {
  const now = performance.now();
  const earliest = Math.max(turns.get(entity) ?? 0, now - AT_ONCE * STEP_MS);
  const turn = Math.min(earliest + STEP_MS, now + MAX_WAIT_MS);
  turns.set(entity, turn);
  return Math.max(0, turn - now);
}
