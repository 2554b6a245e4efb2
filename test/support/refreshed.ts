import { CallSlotsRefresher } from '../../src/tracing/calls/stats/call-slots.refresher.js';
import { KeptTrialsRefresher } from '../../src/tracing/evaluations/kept-trials.refresher.js';
import { ProjectsRefresher } from '../../src/tracing/projects/projects.refresher.js';
import { ThreadsRefresher } from '../../src/tracing/threads/threads.refresher.js';
import type { TestApp } from './app.js';

/** Where each refresher finds what has changed. It leaves the slots of the last five minutes marked. */
const MARKS = {
  threads: [ThreadsRefresher, 'thread_marks'],
  slots: [CallSlotsRefresher, `call_slot_marks WHERE slot < now() - interval '5 minutes'`],
  trials: [KeptTrialsRefresher, 'trial_marks'],
  projects: [ProjectsRefresher, 'project_marks'],
} as const;

/** Brings stored statistics up to date. The service refreshes too, and one refresh skips the projects that it has locked. */
export async function refreshed(app: TestApp, ...which: (keyof typeof MARKS)[]): Promise<void> {
  for (const name of which) {
    const [refresher, marks] = MARKS[name];
    do await app.app.get(refresher).refresh();
    while ((await app.query(`SELECT FROM ${marks} LIMIT 1`)).length > 0);
  }
}
