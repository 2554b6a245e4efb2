// SQL: a batch is locked and erased in one statement.
import { sql, type Sql } from '../platform/query/sql.js';

/** Pieces of feedback that one transaction erases. Their call is erased when none is left. */
export const MAX_FEEDBACK = 1000;

/**
 * Erases up to `MAX_FEEDBACK` pieces of feedback on the items behind refs, or on parts of items. Rows are locked in the
 * order in which batches of feedback are stored.
 * Each look-up is a range in the order of `feedback_ref_idx`. In a table that was never analysed, PostgreSQL treats all
 * indexes that begin with `project_id` as equal, and would read the whole project for each ref.
 */
export const feedbackErase = (projectId: string, refs: readonly string[]) =>
  eraseOf(
    projectId,
    sql`SELECT f.id FROM unnest(${refs}::text[]) r (ref) CROSS JOIN LATERAL (
      (SELECT f.id FROM feedback f WHERE f.project_id = ${projectId} AND f.ref >= r.ref AND f.ref <= r.ref
        ORDER BY f.ref, f.id LIMIT ${MAX_FEEDBACK}::bigint)
      UNION ALL
      (SELECT f.id FROM feedback f WHERE f.project_id = ${projectId} AND f.ref > r.ref || '/' AND f.ref < r.ref || '0'
        ORDER BY f.ref, f.id LIMIT ${MAX_FEEDBACK}::bigint)) f
    LIMIT ${MAX_FEEDBACK}::bigint`,
  );

/** Erases up to `MAX_FEEDBACK` pieces of feedback that are older than a time and not held. */
export const olderFeedbackErase = (projectId: string, before: string, isHeld: Sql) =>
  eraseOf(
    projectId,
    sql`SELECT f.id FROM feedback f WHERE f.project_id = ${projectId} AND f.created_at < ${before}::timestamptz
        AND NOT ${isHeld}
      ORDER BY f.created_at, f.id LIMIT ${MAX_FEEDBACK}::bigint`,
  );

const eraseOf = (projectId: string, doomed: Sql) => sql`
  WITH doomed AS MATERIALIZED (${doomed}), locked AS MATERIALIZED (
    SELECT f.id FROM feedback f WHERE f.project_id = ${projectId} AND f.id IN (SELECT id FROM doomed)
    ORDER BY f.id FOR UPDATE
  )
  DELETE FROM feedback f USING locked l WHERE f.project_id = ${projectId} AND f.id = l.id RETURNING 1`;
