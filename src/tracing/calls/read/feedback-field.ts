import {
  column,
  jsonAt,
  type NamePrefix,
  storable,
  wireTime,
} from '../../../platform/query/columns.js';
import { type Sql, sql } from '../../../platform/query/sql.js';
import {
  isOfType,
  isOnCall,
  refField,
  SCORER_BYTES,
  SCORER_COLUMNS,
  typeColumn,
  userField,
} from '../../feedback-names.query.js';

const isOfCall = (projectId: string) => isOnCall(projectId, sql`c.id`);

/**
 * Returns the field `feedback.[<type>].payload.<path>`. If a call has several items of feedback of the type, the latest
 * one counts, so that the field has one value to compare and to sort by. `[*]` is any type.
 */
export const feedbackField =
  (projectId: string): NamePrefix =>
  ([type, member, ...path]) => {
    if (type === undefined || member !== 'payload') return undefined;
    const value = jsonAt(column.json(sql`f.payload`, sql`f.is_opaque`), path);
    const isMeant = type === '*' ? sql`TRUE` : isOfType(storable(type));
    const latest = (
      read: Sql,
    ) => sql`(SELECT ${read} FROM feedback f WHERE ${isOfCall(projectId)} AND ${isMeant}
      ORDER BY f.created_at DESC, f.id DESC LIMIT 1)`;
    return {
      type: 'json',
      sql: latest(value.sql),
      within: (bytes) => latest(value.within!(bytes)),
    };
  };

/** Limits of the feedback of one call. Its row is one string, and a string of Node is smaller than 512 MiB. */
const MAX_PIECES = 1000;
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/**
 * Returns the newest feedback of a call as a JSON array, the oldest first. The records are those of `/feedback/query`,
 * which returns the rest.
 */
export const feedbackOfCall = (projectId: string) => sql`(
  SELECT ('[' || coalesce(string_agg(row_to_json(t)::text, ',' ORDER BY t.created_at, t.id), '') || ']')::json
  FROM (SELECT f.id, f.project_id, ${wireTime(sql`f.created_at`)} AS created_at, ${refField()},
    ${typeColumn().sql} AS feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref, f.queue_id, ${SCORER_COLUMNS},
    ${userField()}
    FROM (SELECT f.*, sum(octet_length(f.payload::text) + ${SCORER_BYTES}) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
      FROM (SELECT f.* FROM feedback f WHERE ${isOfCall(projectId)}
        ORDER BY f.created_at DESC, f.id DESC LIMIT ${MAX_PIECES}::bigint) f) f
    WHERE f.bytes <= ${MAX_PAYLOAD_BYTES}::bigint) t)`;
