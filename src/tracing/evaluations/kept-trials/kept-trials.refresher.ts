import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { MarksRefresher } from '../../../platform/database/marks-refresher.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { groupBy } from '../../../platform/query/grouping.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { MAX_TRIALS } from '../eval-results.service.js';
import {
  CHUNK_TRIALS,
  chunkOf,
  chunkTexts,
  chunkTrials,
  type KeptTrial,
  keptTrial,
} from './kept-chunks.js';
import {
  anyKept,
  chunkQuery,
  chunkStore,
  type ChunkTexts,
  MARKED_TRIALS,
  marksKeep,
  marksTake,
  runsForget,
  runStates,
  trialIds,
  trialRecords,
  trialsAmong,
} from './kept-trials.query.js';

/** Trials that one statement reads. */
const AT_ONCE = 250;
/** Characters of one kept trial. A run with a larger trial is not kept. */
const MAX_TRIAL = 64 * 1024;
/** Characters of one kept run. */
const MAX_RUN = 64 * 1024 * 1024;
/** Trials of new runs that one transaction keeps. */
const MAX_ANEW = 10_000;

interface ChunkKey {
  runId: string;
  chunk: number;
  chunks: number;
}

const TOO_LARGE: ChunkTexts = {
  ids: null,
  digests: null,
  numbers: null,
  scores: null,
  full_scores: null,
  spent: null,
};

/**
 * Keeps the trials of finished evaluations as arrays. For a kept run, only changed trials are read again. An unfinished
 * run is not kept, since each of its trials would rewrite a chunk. Marks are deleted first: later statements see newer
 * rows, and a change in the meantime adds a new mark.
 */
@Injectable()
export class KeptTrialsRefresher extends MarksRefresher {
  constructor(database: Database, schedule: Schedule) {
    super(database, MARKED_TRIALS, schedule);
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const marks = await this.database.query(marksTake(projectId, limit));
    if (marks.length === 0) return 0;
    const named = new Set(marks.flatMap(({ call_ids }) => call_ids));
    // includes the changed trials themselves: they may have left the runs that their marks name
    const left = new Set(
      marks.flatMap(({ call_ids, run_ids }) => (run_ids.length > 0 ? call_ids : [])),
    );
    const runs = new Map<string, string[]>();
    for (const { run_ids } of marks) for (const id of run_ids) runs.set(id, []);
    const leftRuns = new Set(runs.keys());
    // without kept runs nothing is out of date, and most projects have no evaluations
    const [kept] = await this.database.query(anyKept(projectId));
    const changed = kept ? await this.database.query(trialsAmong(projectId, [...named])) : [];
    for (const { id, run_id } of changed) {
      const trials = runs.get(run_id);
      if (trials) trials.push(id);
      else runs.set(run_id, [id]);
    }
    const isMore = await this.refreshRuns(projectId, runs, (id) =>
      leftRuns.has(id) ? left : NOTHING,
    );
    const taken = marks.reduce((sum, mark) => sum + mark.call_ids.length + mark.run_ids.length, 0);
    return isMore ? limit : Math.min(taken, limit);
  }

  /** Refreshes runs and their changed trials. Returns true when runs are left for the next transaction. */
  private async refreshRuns(
    projectId: string,
    runs: ReadonlyMap<string, string[]>,
    leftOf: (runId: string) => ReadonlySet<string>,
  ): Promise<boolean> {
    if (runs.size === 0) return false;
    const states = await this.database.query(runStates(projectId, [...runs.keys()]));
    const gone = states.filter((state) => !state.is_finished && state.chunks !== null);
    if (gone.length > 0)
      await this.database.query(
        runsForget(
          projectId,
          gone.map(({ id }) => id),
        ),
      );
    let room = MAX_ANEW;
    const later: string[] = [];
    for (const { id, is_finished, chunks, is_large } of states) {
      if (!is_finished || is_large) continue;
      if (chunks !== null)
        await this.patch(projectId, { runId: id, chunks }, runs.get(id)!, leftOf(id));
      else if (room <= 0) later.push(id);
      else room -= await this.keep(projectId, id);
    }
    if (later.length > 0) await this.database.query(marksKeep(projectId, later));
    return later.length > 0;
  }

  /** Keeps all trials of a run. Returns how many trials it has. */
  private async keep(projectId: string, runId: string): Promise<number> {
    const found = await this.database.query(trialIds(projectId, runId, MAX_TRIALS + 1));
    const ids = found.map(({ id }) => id);
    await this.database.query(runsForget(projectId, [runId]));
    const trials = ids.length > MAX_TRIALS ? null : await this.records(projectId, runId, ids);
    const chunks = Math.max(1, Math.ceil(ids.length / CHUNK_TRIALS));
    const lists = byChunk([...(trials?.keys() ?? [])], chunks);
    for (let chunk = 0; chunk < chunks; chunk++) {
      const list = (lists.get(chunk) ?? []).map((id) => trials!.get(id)!);
      const texts = trials && chunkTexts(list);
      if (!texts) {
        await this.forgetLarge(projectId, runId);
        break;
      }
      await this.store(projectId, { runId, chunk, chunks }, texts);
    }
    return ids.length;
  }

  /** Updates changed trials of a kept run, and removes those that have left it. */
  private async patch(
    projectId: string,
    { runId, chunks }: Omit<ChunkKey, 'chunk'>,
    changed: readonly string[],
    left: ReadonlySet<string>,
  ): Promise<void> {
    const trials = await this.records(projectId, runId, changed);
    if (!trials) return this.forgetLarge(projectId, runId);
    const turn = new EventLoopTurn();
    for (const [chunk, ids] of byChunk([...changed, ...left], chunks)) {
      const [texts] = await this.database.query(chunkQuery(projectId, runId, chunk));
      const kept = chunkTrials(texts!);
      const isChanged = replaceTrials(kept, ids, trials);
      if (turn.isOver) await turn.next();
      if (!isChanged) continue;
      if (kept.size > 4 * CHUNK_TRIALS) {
        await this.keep(projectId, runId);
        return;
      }
      const made = chunkTexts([...kept.values()]);
      if (!made) return this.forgetLarge(projectId, runId);
      if (texts!.full_scores === null) made.full_scores = null;
      await this.store(projectId, { runId, chunk, chunks }, made);
    }
  }

  /** Notes that a run is too large to be kept. */
  private async forgetLarge(projectId: string, runId: string): Promise<void> {
    await this.database.query(runsForget(projectId, [runId]));
    await this.store(projectId, { runId, chunk: 0, chunks: 1 }, TOO_LARGE);
  }

  private store(projectId: string, place: ChunkKey, texts: ChunkTexts): Promise<void> {
    return this.database.query(chunkStore(projectId, place, texts)).then(() => {});
  }

  /** Reads the kept form of trials, keyed by id. Returns null when they are too large. */
  private async records(
    projectId: string,
    runId: string,
    ids: readonly string[],
  ): Promise<Map<string, KeptTrial> | null> {
    const trials = new Map<string, KeptTrial>();
    const turn = new EventLoopTurn();
    let length = 0;
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      const some = ids.slice(i, i + AT_ONCE);
      const rows = await this.database.query(trialRecords(projectId, runId, some, MAX_TRIAL));
      for (const { json } of rows) {
        length += json?.length ?? Infinity;
        if (length > MAX_RUN) return null;
        if (turn.isOver) await turn.next();
        const trial = keptTrial(json!);
        trials.set(JSON.parse(trial.id) as string, trial);
      }
    }
    return trials;
  }
}

const byChunk = (ids: readonly string[], chunks: number) =>
  groupBy(ids, (id) => chunkOf(id, chunks));

/** Replaces the trials with these ids in `kept`, and removes those that are gone. Returns true when `kept` changed. */
function replaceTrials(
  kept: Map<string, KeptTrial>,
  ids: readonly string[],
  trials: ReadonlyMap<string, KeptTrial>,
): boolean {
  let isChanged = false;
  for (const id of ids) {
    const trial = trials.get(id);
    if (kept.delete(id) || trial) isChanged = true;
    if (trial) kept.set(id, trial);
  }
  return isChanged;
}

const NOTHING: ReadonlySet<string> = new Set();
