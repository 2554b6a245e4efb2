import { setTimeout as pause } from 'node:timers/promises';

const LIMIT_MS = 400_000;

/** Waits for a condition. If it does not come true in time, it throws an error whose stack names the caller. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const tooLate = new Error(`this did not come true in ${LIMIT_MS / 1000} s: ${String(condition)}`);
  const deadline = Date.now() + LIMIT_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw tooLate;
    await pause(20);
  }
}
