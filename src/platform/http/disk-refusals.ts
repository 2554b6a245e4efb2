const LATELY_MS = 10_000;

let refusedAt = -Infinity;

/** SQLSTATEs of a full disk, and of trouble with it. */
const REFUSALS = new Set<unknown>(['53100', '58030']);

/** Remembers that the database refused something because of its disk: PostgreSQL does not report it when asked. */
export function noteDiskRefusal(error: unknown): void {
  const { code } = Object(error) as { code?: unknown };
  if (REFUSALS.has(code)) refusedAt = performance.now();
}

/** Whether that was in the last 10 s. */
export const wasRefusedLately = (): boolean => performance.now() - refusedAt < LATELY_MS;
