import { setTimeout as pause } from 'node:timers/promises';

/** Waits for a condition; the test's own time limit is the bound. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(20);
}
