import { CallSlotsRefresher } from '../../src/tracing/calls/stats/call-slots.refresher.js';
import { CallTextsIndexer } from '../../src/tracing/calls/texts/call-texts.indexer.js';
import { KeptTrialsRefresher } from '../../src/tracing/evaluations/kept-trials/kept-trials.refresher.js';
import { ProjectsRefresher } from '../../src/tracing/projects/projects.refresher.js';
import { ThreadsRefresher } from '../../src/tracing/threads/threads.refresher.js';
import type { TestApp } from './app.js';

/** The refreshers and their marks. Slots of the last five minutes stay marked. */
const MARKS = {
  threads: [ThreadsRefresher, 'thread_marks'],
  slots: [CallSlotsRefresher, `call_slot_marks WHERE slot < now() - interval '5 minutes'`],
  trials: [KeptTrialsRefresher, 'trial_marks'],
  texts: [CallTextsIndexer, 'call_text_marks'],
  projects: [ProjectsRefresher, 'project_marks'],
} as const;

/**
 * Refreshes stored statistics until no mark is left. The service refreshes too, and one run skips projects locked by
 * another.
 */
export async function refreshed(app: TestApp, ...which: (keyof typeof MARKS)[]): Promise<void> {
  for (const name of which) {
    const [refresher, marks] = MARKS[name];
    do await app.app.get(refresher).refresh();
    while ((await app.query(`SELECT FROM ${marks} LIMIT 1`)).length > 0);
  }
}
