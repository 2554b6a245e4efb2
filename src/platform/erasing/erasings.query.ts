import { sql } from '../query/sql.js';

export type Counts = Record<string, number>;

/** An erasing as its steps read it. */
export interface ErasingRow {
  project_id: string;
  id: string;
  kind: string;
  request: unknown;
  targets: string[] | null;
  cursor: unknown;
  counts: Counts;
  key_id: string;
  user_name: string;
  created_at: string;
}

export interface NewErasing {
  projectId: string;
  id: string;
  kind: string;
  request: object;
  targets: readonly string[] | null;
  by: { keyId: string; userName: string };
}

export const erasingInsert = (erasing: NewErasing) => sql`
  INSERT INTO erasings (project_id, id, kind, request, targets, key_id, user_name)
  VALUES (${erasing.projectId}, ${erasing.id}, ${erasing.kind}, ${JSON.stringify(erasing.request)}::json,
    ${erasing.targets}::text[], ${erasing.by.keyId}, ${erasing.by.userName})`;

const isOne = (projectId: string, id: string) => sql`project_id = ${projectId} AND id = ${id}`;

/** The erasing, if it has not ended. Two processes that work on it wait for each other here. */
export const erasingLock = (projectId: string, id: string) => sql<ErasingRow>`
  SELECT project_id, id, kind, request, targets, cursor, counts, key_id, user_name, created_at::text AS created_at
  FROM erasings WHERE ${isOne(projectId, id)} AND ended_at IS NULL FOR UPDATE`;

/** Where the next step begins. */
export const erasingMove = (projectId: string, id: string, cursor: object, counts: Counts) => sql`
  UPDATE erasings SET cursor = ${JSON.stringify(cursor)}::json, counts = ${JSON.stringify(counts)}::json,
    touched_at = statement_timestamp()
  WHERE ${isOne(projectId, id)}`;

export const erasingEnd = (projectId: string, id: string, counts: Counts) => sql`
  UPDATE erasings SET request = NULL, targets = NULL, cursor = NULL, counts = ${JSON.stringify(counts)}::json,
    touched_at = statement_timestamp(), ended_at = statement_timestamp()
  WHERE ${isOne(projectId, id)}`;

/** Puts off the next try of one that failed. */
export const erasingPutOff = (projectId: string, id: string) => sql`
  UPDATE erasings SET touched_at = statement_timestamp() + interval '1 minute' WHERE ${isOne(projectId, id)}`;

export const erasingState = (projectId: string, id: string) => sql<{
  is_done: boolean;
  counts: Counts;
}>`
  SELECT ended_at IS NOT NULL AS is_done, counts FROM erasings WHERE ${isOne(projectId, id)}`;

/** Erasings that nobody has in hand: their process died, or gave them back. */
export const leftErasings = () => sql<{ project_id: string; id: string }>`
  SELECT project_id, id FROM erasings WHERE ended_at IS NULL AND touched_at < now() - interval '10 seconds'
  ORDER BY touched_at, id LIMIT 100`;

/** As long as the answer to an Idempotency-Key is kept. */
export const endedErasingsDelete = () =>
  sql`DELETE FROM erasings WHERE ended_at < now() - interval '24 hours'`;
