import { WIRE } from '../../../platform/http/wire.js';
import {
  column,
  jsonAt,
  type Prefix,
  storable,
  wireTime,
} from '../../../platform/query/columns.js';
import { identifier, type Sql, sql } from '../../../platform/query/sql.js';

/** Feedback belongs to a call by its ref, spelled out: the index on it serves. */
const isOfCall = (projectId: string) => sql`f.project_id = ${projectId}
  AND f.ref = ${`${WIRE.scheme}:///`}::text || c.project_id || '/call/' || c.id`;

/**
 * `feedback.[<type>].payload.<path>`: of several pieces of feedback of one type the latest is the one that is meant, so
 * that the field has one value to compare and to sort by. `[*]` is any type.
 */
export const feedbackField =
  (projectId: string): Prefix =>
  ([type, member, ...path]) => {
    if (type === undefined || member !== 'payload') return undefined;
    const value = jsonAt(column.json(sql`f.payload`, sql`f.is_opaque`), path);
    const isOfType = type === '*' ? sql`TRUE` : sql`f.feedback_type = ${storable(type)}`;
    const latest = (
      read: Sql,
    ) => sql`(SELECT ${read} FROM feedback f WHERE ${isOfCall(projectId)} AND ${isOfType}
      ORDER BY f.created_at DESC, f.id DESC LIMIT 1)`;
    return {
      type: 'json',
      sql: latest(value.sql),
      within: (bytes) => latest(value.within!(bytes)),
    };
  };

/** Of one call no more is answered, because its row is one string, which Node cannot hold from 512 MiB on. */
const MAX_PIECES = 1000;
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/**
 * The newest feedback of a call as a JSON array, the oldest first; the records are those of `/feedback/query`, which has
 * the rest of them.
 */
export const feedbackOfCall = (projectId: string) => sql`(
  SELECT ('[' || coalesce(string_agg(row_to_json(t)::text, ',' ORDER BY t.created_at, t.id), '') || ']')::json
  FROM (SELECT f.id, f.project_id, ${wireTime(sql`f.created_at`)} AS created_at, f.ref AS ${identifier(WIRE.ref)},
    f.feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref, f.queue_id,
    f.user_id AS ${identifier(WIRE.userId)}
    FROM (SELECT f.*, sum(octet_length(f.payload::text)) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
      FROM (SELECT f.* FROM feedback f WHERE ${isOfCall(projectId)}
        ORDER BY f.created_at DESC, f.id DESC LIMIT ${MAX_PIECES}::bigint) f) f
    WHERE f.bytes <= ${MAX_PAYLOAD_BYTES}::bigint) t)`;
