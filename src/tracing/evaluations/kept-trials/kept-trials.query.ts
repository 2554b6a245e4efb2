// SQL: trials are stored as arrays, and computed from calls and marks of one snapshot.
import { projectLock } from '../../../platform/database/advisory-locks.js';
import type { MarkedStatistics } from '../../../platform/database/marks-refresher.js';
import { computedOnce, lookedUp } from '../../../platform/query/plans.js';
import { sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';
import { belowTrial, isTrial, SCORES, trialsWhere } from '../trial-parts.query.js';

/** Marks that a reader examines. When a project has more, it reads the calls instead. */
const MAX_READ_MARKS = 2000;

/**
 * CTE `kept_runs`: those of `runIds` whose kept trials are exact. A mark names runs, or calls that may be trials of
 * runs. With `needsTexts` (conditions need texts of scores), runs without `full_scores` are left out.
 */
export const keptRuns = (
  projectId: string,
  runIds: readonly string[],
  needsTexts: boolean,
) => sql`touched AS MATERIALIZED (
    SELECT m.call_ids, m.run_ids FROM trial_marks m WHERE m.project_id = ${projectId} LIMIT ${MAX_READ_MARKS + 1}::bigint),
  changed AS MATERIALIZED (
    SELECT unnest(m.run_ids) AS id FROM touched m
    UNION
    SELECT c.parent_id FROM (SELECT DISTINCT unnest(m.call_ids) AS id FROM touched m) m
      ${lookedUp(sql`SELECT c.parent_id FROM calls c WHERE c.project_id = ${projectId} AND c.id = m.id AND c.parent_id IS NOT NULL`, 'c')}),
  kept_runs AS MATERIALIZED (
    SELECT r.id FROM unnest(${runIds}::text[]) r (id)
    WHERE (SELECT count(*) FROM touched) <= ${MAX_READ_MARKS}::bigint AND r.id NOT IN (SELECT id FROM changed)
      AND EXISTS (SELECT FROM kept_trials k WHERE k.project_id = ${projectId} AND k.run_id = r.id AND k.chunk = 0 AND k.ids IS NOT NULL)
      AND (${!needsTexts}::boolean OR NOT EXISTS (
        SELECT FROM kept_trials k WHERE k.project_id = ${projectId} AND k.run_id = r.id AND k.full_scores IS NULL)))`;

/** Marks that name 5000 calls take 0.1 s, or up to 1 s when all of them are trials. */
export const MARKED_TRIALS: MarkedStatistics = {
  marks: sql`trial_marks`,
  lock: projectLock(0x7472696c),
  atOnce: 5000,
  what: 'trials of evaluations',
};

/** Deletes and returns the oldest marks, which together name about `limit` calls. */
export const marksTake = (projectId: string, limit: number) => sql<{
  call_ids: string[];
  run_ids: string[];
}>`
  DELETE FROM trial_marks WHERE project_id = ${projectId} AND id = ANY(ARRAY(
    SELECT m.id FROM (
      SELECT m.id, sum(m.size) OVER (ORDER BY m.id) - m.size AS before FROM (
        SELECT m.id, cardinality(m.call_ids) + cardinality(m.run_ids) AS size FROM trial_marks m
        WHERE m.project_id = ${projectId} ORDER BY m.id LIMIT ${limit}::bigint) m) m
    WHERE m.before < ${limit}::bigint))
  RETURNING call_ids, run_ids`;

export const marksKeep = (projectId: string, runIds: readonly string[]) =>
  sql`INSERT INTO trial_marks (project_id, call_ids, run_ids) VALUES (${projectId}, '{}', ${runIds}::text[])`;

/** Reads the trials among the calls `ids`, each with its run. */
export const trialsAmong = (projectId: string, ids: readonly string[]) => sql<{
  id: string;
  run_id: string;
}>`
  SELECT c.id, c.parent_id AS run_id FROM unnest(${ids}::text[]) r (id)
  ${lookedUp(sql`SELECT c.id, c.parent_id FROM calls c WHERE ${visibleIn(projectId)} AND c.id = r.id AND c.parent_id IS NOT NULL AND ${isTrial}`, 'c')}`;

/**
 * Reads which runs have finished, and how many chunks keep each. `is_large` marks runs that are too large to be kept.
 */
export const runStates = (projectId: string, runIds: readonly string[]) => sql<{
  id: string;
  is_finished: boolean;
  chunks: number | null;
  is_large: boolean | null;
}>`
  SELECT r.id, coalesce((SELECT strpos(c.op_name, 'Evaluation.evaluate') > 0 AND c.ended_at IS NOT NULL
      FROM calls c WHERE ${visibleIn(projectId)} AND c.id = r.id), false) AS is_finished, k.chunks, k.is_large
  FROM unnest(${runIds}::text[]) r (id)
  LEFT JOIN LATERAL ${computedOnce(
    sql`SELECT k.chunks, k.ids IS NULL AS is_large FROM kept_trials k
      WHERE k.project_id = ${projectId} AND k.run_id = r.id AND k.chunk = 0`,
    'k',
  )} ON true`;

export const trialIds = (projectId: string, runId: string, limit: number) => sql<{ id: string }>`
  SELECT c.id FROM calls c WHERE ${visibleIn(projectId)} AND c.parent_id = ${runId} AND ${isTrial} LIMIT ${limit}::bigint`;

/**
 * Reads trials of a run as records for `keptTrial`, in any order. A trial longer than `maxLength` characters is null.
 * Each trial is looked up by its id alone. With the run as a condition, PostgreSQL would read all trials of the run for
 * each id until the first ANALYZE of calls.
 */
export const trialRecords = (
  projectId: string,
  runId: string,
  ids: readonly string[],
  maxLength: number,
) => {
  const below = belowTrial(projectId, { hasScores: true, spending: 'dated', isCompared: true });
  return sql<{ json: string | null }>`
    SELECT CASE WHEN length(t.json) <= ${maxLength}::int AND NOT t.is_much THEN t.json END AS json FROM (
      SELECT json_build_array(s.id, s.digest, date_part('epoch', s.started_at), ${SCORES}, k.late, k.latency, k.spent, k.judges)::text AS json,
        coalesce(json_typeof(k.late) = 'boolean', false) AS is_much
      FROM unnest(${ids}::text[]) r (id)
      CROSS JOIN LATERAL ${trialsWhere(projectId, sql`c.id = r.id`, true)}
      ${lookedUp(below, 'k')}
      WHERE s.parent_id = ${runId}) t`;
};

/** A chunk as it is stored, each column as JSON text. */
export type ChunkTexts = Record<
  'ids' | 'digests' | 'numbers' | 'scores' | 'full_scores' | 'spent',
  string | null
>;

export const chunkQuery = (projectId: string, runId: string, chunk: number) => sql<ChunkTexts>`
  SELECT k.ids::text, k.digests::text, k.numbers::text, k.scores::text, k.full_scores::text, k.spent::text
  FROM kept_trials k WHERE k.project_id = ${projectId} AND k.run_id = ${runId} AND k.chunk = ${chunk}::int`;

export const chunkStore = (
  projectId: string,
  { runId, chunk, chunks }: { runId: string; chunk: number; chunks: number },
  { ids, digests, numbers, scores, full_scores, spent }: ChunkTexts,
) => sql`
  INSERT INTO kept_trials (project_id, run_id, chunk, chunks, ids, digests, numbers, scores, full_scores, spent)
  VALUES (${projectId}, ${runId}, ${chunk}::int, ${chunks}::int, ${ids}::json, ${digests}::json, ${numbers}::json, ${scores}::json,
    ${full_scores}::json, ${spent}::json)
  ON CONFLICT (project_id, run_id, chunk) DO UPDATE SET chunks = excluded.chunks, ids = excluded.ids, digests = excluded.digests,
    numbers = excluded.numbers, scores = excluded.scores, full_scores = excluded.full_scores, spent = excluded.spent`;

export const runsForget = (projectId: string, runIds: readonly string[]) =>
  sql`DELETE FROM kept_trials WHERE project_id = ${projectId} AND run_id = ANY(${runIds}::text[])`;

/** Returns a row when the project has a kept run. */
export const anyKept = (projectId: string) =>
  sql`SELECT FROM kept_trials WHERE project_id = ${projectId} LIMIT 1`;
