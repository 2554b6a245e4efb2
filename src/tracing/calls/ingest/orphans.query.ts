import { lookedUp } from '../../../platform/query/plans.js';
import { textArray } from '../../../platform/query/binary-array.js';
import {
  Parameter,
  prepared,
  type PreparedStatement,
  sql,
  type Sql,
} from '../../../platform/query/sql.js';
import { sourceAttributes } from '../source/call-sources.query.js';
import type { CallSource } from '../../conventions/call-source.js';
import type { CallRow } from '../call.entity.js';
import { columnsOfCall, isTopOrphan, visibleIn } from '../../visible-calls.js';

const POSITION_COLUMNS = [
  'id',
  'trace_id',
  'parent_id',
  'op_name',
  'linked_call_id',
  'source',
  'own_source',
] as const;

/** The position of a stored call in its tree. A call without an op has not started. */
export interface TreePosition extends Pick<CallRow, (typeof POSITION_COLUMNS)[number]> {
  is_deleted: boolean;
  source: CallSource;
  own_source: CallSource | null;
}

const POSITIONS = prepared<TreePosition>(
  'calls.places',
  sql`SELECT c.* FROM unnest(${null}::text[]) t (id) ${lookedUp(
    sql`SELECT ${columnsOfCall(POSITION_COLUMNS)}, c.deleted_at IS NOT NULL AS is_deleted
      FROM calls c WHERE c.project_id = ${new Parameter(null)}::text AND c.id = t.id`,
    'c',
  )}`,
);

export const positionsQuery = (
  projectId: string,
  ids: readonly string[],
): PreparedStatement<TreePosition> => ({
  ...POSITIONS,
  values: [textArray(ids), projectId],
});

/** Maximum number of calls that one statement marks when their parents are removed. */
export const MAX_MARKED = 5000;

/**
 * Marks the children of calls that are removed as orphans. Children that are removed too are skipped. Returns at most
 * `MAX_MARKED` calls.
 */
export const childrenMark = (projectId: string, ids: readonly string[]) => sql<{
  id: string;
  trace_id: string | null;
}>`
  WITH found AS MATERIALIZED (
    SELECT c.id FROM unnest(${ids}::text[]) t (id) ${lookedUp(
      sql`SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.parent_id = t.id AND NOT c.is_orphan`,
      'c',
    )} WHERE c.id NOT IN (SELECT unnest(${ids}::text[])) LIMIT ${MAX_MARKED}::bigint),
  locked AS MATERIALIZED (
    SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM found)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET is_orphan = true
  WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(SELECT id FROM locked)) RETURNING c.id, c.trace_id`;

/** Maximum number of calls of older builds, or of missing parents, in one batch. */
export const MAX_WALKED = 2000;
const MAX_COUNTED = 1_000_000;
/** A walk stops 5 minutes before now. Calls that arrive later may begin before the position of the walk. */
const SETTLED = sql`statement_timestamp() - interval '5 minutes'`;

export interface WalkProgress {
  project_id: string;
  started_at: string;
  call_id: string;
  /** The start up to which the walk goes now. */
  before: string;
  /** True if no calls remain after `before`. */
  is_last: boolean;
}

export const walksCount = () =>
  sql<{ walks: number }>`SELECT count(*)::int AS walks FROM orphan_walks`;

export const walksLeft = () => sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT c.id FROM orphan_walks w JOIN calls c ON c.project_id = w.project_id
    WHERE (c.started_at, c.id) > (w.started_at, w.call_id) AND c.started_at < least(w.until, ${SETTLED})
    LIMIT ${MAX_COUNTED}::bigint) c`;

/** Selects the walk with the earliest position, among walks that can end or have at least a minute to go. */
export const nextWalk = () => sql<WalkProgress>`
  SELECT w.project_id, w.started_at::text AS started_at, w.call_id, least(w.until, ${SETTLED})::text AS before, w.until < ${SETTLED} AS is_last
  FROM orphan_walks w WHERE w.started_at < ${SETTLED} - interval '1 minute' OR w.until < ${SETTLED}
  ORDER BY w.started_at, w.project_id LIMIT 1`;

export interface WalkedCall {
  id: string;
  started: string;
  trace_id: string | null;
  is_orphan: boolean;
  op_name: string;
  parent_id: string | null;
  /** Attributes that may state the source of the call. Null if the call states its source already. */
  attributes: Record<string, unknown> | null;
}

/**
 * Selects the next calls of a walk, in the order of an index. It also reports calls in a circle of two parents as
 * orphans. Longer circles were stored without a mark.
 */
export const walkedCalls = ({
  project_id: projectId,
  before,
  started_at,
  call_id,
}: WalkProgress) => sql<WalkedCall>`
  SELECT c.id, c.started_at::text AS started, c.trace_id, coalesce(NOT c.is_orphan AND c.parent_id IS NOT NULL AND (
      SELECT TRUE FROM calls p WHERE p.project_id = ${projectId} AND p.id = c.parent_id AND p.id <> c.id
        AND p.parent_id IS DISTINCT FROM c.id AND p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL
      LIMIT 1) IS NOT TRUE, false) AS is_orphan, coalesce(c.op_name, '') AS op_name, c.parent_id,
    CASE WHEN c.own_source IS NULL THEN ${sourceAttributes} END AS attributes
  FROM (SELECT c.* FROM calls c
    WHERE c.project_id = ${projectId} AND (c.started_at, c.id) > (${started_at}::timestamptz, ${call_id})
      AND c.started_at < ${before}::timestamptz
    ORDER BY c.started_at, c.id LIMIT ${MAX_WALKED}::bigint) c
  ORDER BY c.started_at, c.id`;

const lockedCalls = (projectId: string, ids: Sql) => sql`ARRAY(
  SELECT c.id FROM calls c WHERE c.project_id = ${projectId} AND c.id = ANY(ARRAY(${ids})) ORDER BY c.id FOR UPDATE)`;

export const orphansMark = (projectId: string, ids: readonly string[]) => sql`
  UPDATE calls c SET is_orphan = true
  WHERE c.project_id = ${projectId} AND c.id = ANY(${lockedCalls(projectId, sql`SELECT unnest(${ids}::text[])`)})`;

export const walkMove = (projectId: string, to: { id: string; started: string }) => sql`
  UPDATE orphan_walks SET started_at = ${to.started}::timestamptz, call_id = ${to.id} WHERE project_id = ${projectId}`;

export const walkEnd = (projectId: string) =>
  sql`DELETE FROM orphan_walks WHERE project_id = ${projectId}`;

export interface ParentKey {
  project_id: string;
  parent_id: string;
}

/** Selects the next parents of marked calls, from the index that holds only marked calls. */
export const missingParents = ({ project_id, parent_id }: ParentKey) => sql<ParentKey>`
  SELECT DISTINCT c.project_id, c.parent_id FROM calls c
  WHERE c.is_orphan AND (c.project_id, c.parent_id) > (${project_id}, ${parent_id})
  ORDER BY c.project_id, c.parent_id LIMIT ${MAX_WALKED}::bigint`;

/**
 * Removes the marks of calls below these parents that are no roots. The caller must hold the lock that a purge of the
 * parents holds too; the purge marks only calls without a mark.
 */
export const orphansClear = (projectId: string, parents: readonly string[]) => sql`
  WITH found AS MATERIALIZED (
    SELECT c.id FROM unnest(${parents}::text[]) t (id) ${lookedUp(
      sql`SELECT c.id, c.parent_id, c.trace_id, c.started_at, c.is_orphan FROM calls c
        WHERE ${visibleIn(projectId)} AND c.parent_id = t.id AND c.is_orphan`,
      'c',
    )} WHERE NOT ${isTopOrphan(projectId)} LIMIT ${MAX_MARKED}::bigint)
  UPDATE calls c SET is_orphan = false
  WHERE c.project_id = ${projectId} AND c.id = ANY(${lockedCalls(projectId, sql`SELECT id FROM found`)})
  RETURNING 1`;
