// SQL: feedback is looked up by refs, in both spellings, and limited by bytes.
import { spellRefs } from '../../../platform/http/refs.js';
import { wireTime } from '../../../platform/query/columns.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { sql, type Sql } from '../../../platform/query/sql.js';
import {
  isOfType,
  isShown,
  refField,
  SCORER_BYTES,
  SCORER_JSON_COLUMNS,
  typeColumn,
  userField,
} from '../../../tracing/feedback-names.query.js';

type AgentRefKind = 'agent_turn' | 'agent_span' | 'agent_conversation';

export interface FeedbackItem {
  kind: AgentRefKind;
  id: string;
}

/** Returns the refs of items in both spellings. A span is a call, so refs of its call count too. */
const refsOf = (projectId: string, items: readonly FeedbackItem[]) =>
  items.flatMap(({ kind, id }, place) =>
    spellRefs(projectId, kind === 'agent_span' ? [kind, 'call'] : [kind], [id]).map((ref) => ({
      place,
      ref,
    })),
  );

/** Limits of one answer: pieces of feedback, and bytes of their payloads. The newest ones are returned. */
const MAX_PIECES = 1000;
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** Reads the feedback on items, the oldest first. `place` is the index of the item. */
export function feedbackOn(
  projectId: string,
  items: readonly FeedbackItem[],
): Sql<{ place: number; json: string }> {
  const refs = refsOf(projectId, items);
  return sql`
    SELECT t.place, row_to_json(t)::text AS json FROM (
      SELECT f.place, f.id, ${wireTime(sql`f.created_at`)} AS created_at, ${refField()},
        ${typeColumn().sql} AS feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref,
        ${userField()}, ${SCORER_JSON_COLUMNS}
      FROM (SELECT f.*, sum(octet_length(f.payload::text) + ${SCORER_BYTES}) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
        FROM (${feedbackByRefs(projectId, refs, sql`TRUE`)} ORDER BY f.created_at DESC, f.id DESC LIMIT ${MAX_PIECES}::bigint) f) f
      WHERE f.bytes <= ${MAX_PAYLOAD_BYTES}::bigint) t
    ORDER BY t.created_at, t.id`;
}

const feedbackByRefs = (
  projectId: string,
  refs: readonly { place: number; ref: string }[],
  condition: Sql,
) =>
  sql`SELECT r.place, f.* FROM unnest(${refs.map(({ ref }) => ref)}::text[], ${refs.map(({ place }) => place)}::int[]) r (ref, place) ${lookedUp(
    sql`SELECT f.* FROM feedback f WHERE f.project_id = ${projectId} AND f.ref = r.ref AND ${isShown(projectId)} AND ${condition}`,
    'f',
  )}`;

export interface FeedbackSignal {
  place: number;
  feedback_type: string;
  tags: string[] | null;
  ratings: Record<string, number> | null;
  reasons: Record<string, string> | null;
  confidences: Record<string, number> | null;
}

/** Reads the tags and ratings on items, without payloads, the oldest first. */
export const signalsOn = (
  projectId: string,
  items: readonly FeedbackItem[],
  limit: number,
): Sql<FeedbackSignal> => sql`
  SELECT f.place, ${typeColumn().sql} AS feedback_type, f.scorer_tags AS tags, f.scorer_ratings AS ratings, f.scorer_rating_reasons AS reasons,
    f.scorer_rating_confidences AS confidences
  FROM (SELECT f.*, sum(${SCORER_BYTES}) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
    FROM (${feedbackByRefs(projectId, refsOf(projectId, items), isOfType('svc.agent_monitor', 'svc.agent_user_feedback'))}
      ORDER BY f.created_at DESC, f.id DESC LIMIT ${limit}::bigint) f) f
  WHERE f.bytes <= ${MAX_PAYLOAD_BYTES}::bigint ORDER BY f.created_at, f.id`;
