// SQL: a row is locked and read with the microseconds of its time, and the clock of the database finds abandoned rows.
import { textLock } from '../database/advisory-locks.js';
import { sql } from '../query/sql.js';

/** Held by a request that counts the open erasings of an entity, until its own is stored. */
export const OPENING = textLock(0x65726173);

export type RowCounts = Record<string, number>;

export interface ErasingKey {
  project_id: string;
  id: string;
  key_id: string;
}

export interface ErasingRow extends ErasingKey {
  kind: string;
  request: unknown;
  targets: string[] | null;
  cursor: unknown;
  counts: RowCounts;
  user_name: string;
  created_at: string;
}

/** Locks the erasing, if it has not ended. Processes that work on the same erasing wait for each other here. */
export const erasingLock = (projectId: string, id: string) => sql<ErasingRow>`
  SELECT project_id, id, kind, request, targets, cursor, counts, key_id, user_name, created_at::text AS created_at
  FROM erasings WHERE project_id = ${projectId} AND id = ${id} AND ended_at IS NULL FOR UPDATE`;

export const openErasings = (entity: string) => sql<{ count: number }>`
  SELECT count(*)::int AS count FROM erasings
  WHERE ended_at IS NULL AND split_part(project_id, '/', 1) = ${entity}`;

/** Selects erasings that no process works on: their process died, or released them. Each entity's oldest come first. */
export const leftErasings = () => sql<ErasingKey>`
  SELECT project_id, id, key_id FROM erasings WHERE ended_at IS NULL AND touched_at < now() - interval '10 seconds'
  ORDER BY row_number() OVER (PARTITION BY split_part(project_id, '/', 1) ORDER BY touched_at, id), touched_at, id LIMIT 100`;

/** Deletes ended erasings after the time for which answers to an Idempotency-Key are kept. */
export const endedErasingsDelete = () =>
  sql`DELETE FROM erasings WHERE ended_at < now() - interval '24 hours'`;
