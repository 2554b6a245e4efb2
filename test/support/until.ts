import { setTimeout as pause } from 'node:timers/promises';

/** Waits for a condition. It has no time limit besides the test's own. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(20);
}
