/**
 * Longer than clients wait before they try again, so that the state does not change while the disk stays full. An alert
 * that waits for a minute then fires.
 */
const LATELY_MS = 120_000;

let refusedAt = -Infinity;

/** SQLSTATEs of a full disk and of I/O errors. */
const REFUSALS = new Set<unknown>(['53100', '58030']);

/** Remembers that the database refused a statement because of its disk. PostgreSQL offers no query for that. */
export function noteDiskRefusal(error: unknown): void {
  const { code } = Object(error) as { code?: unknown };
  if (REFUSALS.has(code)) refusedAt = performance.now();
}

/** Returns true when the database refused a statement because of its disk in the last two minutes. */
export const wasRefusedLately = (): boolean => performance.now() - refusedAt < LATELY_MS;
