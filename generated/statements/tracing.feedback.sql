-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- feedback-stats.query:statsQuery
SELECT bucket, count(*)::int AS count, ARRAY[avg("v0"), min("v0"), max("v0")]::float8[] AS values
  FROM (SELECT width_bucket(f.created_at, $1::timestamptz[]) - 1 AS bucket, (SELECT CASE WHEN abs(x.n) < 1e290 THEN round(x.n, 60) END FROM (SELECT skein_number((CASE WHEN f.is_opaque THEN skein_safe_json(f.payload) ELSE f.payload END #>> $2::text[])) AS n OFFSET 0) "x") AS "v0" FROM feedback f WHERE f.project_id = $3 AND f.created_at >= $4::timestamptz AND f.created_at < $5::timestamptz AND CASE
  WHEN split_part(f.ref, '/', $6::int) || '/' || split_part(f.ref, '/', $7::int) <> $8 THEN TRUE
  WHEN split_part(f.ref, '/', $9::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $10 AND c.id = split_part(f.ref, '/', $11::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $12::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $13 AND c.trace_id = split_part(f.ref, '/', $14::int)) IS NOT FALSE
  ELSE TRUE END OFFSET 0) "s" GROUP BY GROUPING SETS ((bucket), ()) ORDER BY bucket;

-- feedback.query:insertQuery
WITH f AS (
  INSERT INTO feedback AS f (project_id, id, user_id, is_opaque, "feedback_type", "ref", "annotation_ref", "runnable_ref", "call_ref", "trigger_ref", "queue_id", "creator", "span_agent_name", "span_agent_version", "span_status_code", "span_conversation_id", "span_trace_id", "scorer_trace_id", "scorer_tags", "scorer_tag_reasons", "scorer_tag_confidences", "scorer_ratings", "scorer_rating_reasons", "scorer_rating_confidences", "payload")
  VALUES ($1, $2, $3, $4::boolean, $5::"text", $6::"text", $7::"text", $8::"text", $9::"text", $10::"text", $11::"text", $12::"text", $13::"text", $14::"text", $15::"text", $16::"text", $17::"text", $18::"text", $19::"json", $20::"json", $21::"json", $22::"json", $23::"json", $24::"json", $25::"json")
  ON CONFLICT (project_id, id) DO UPDATE SET id = f.id
  RETURNING *)
  SELECT (SELECT row_to_json(t)::text FROM (SELECT f.id AS "id", to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", f.user_id AS "svc_user_id", f.payload AS "payload") t) AS json,
  (f."feedback_type"::text IS NOT DISTINCT FROM $26::text AND f."ref"::text IS NOT DISTINCT FROM $27::text AND f."annotation_ref"::text IS NOT DISTINCT FROM $28::text AND f."runnable_ref"::text IS NOT DISTINCT FROM $29::text AND f."call_ref"::text IS NOT DISTINCT FROM $30::text AND f."trigger_ref"::text IS NOT DISTINCT FROM $31::text AND f."queue_id"::text IS NOT DISTINCT FROM $32::text AND f."creator"::text IS NOT DISTINCT FROM $33::text AND f."span_agent_name"::text IS NOT DISTINCT FROM $34::text AND f."span_agent_version"::text IS NOT DISTINCT FROM $35::text AND f."span_status_code"::text IS NOT DISTINCT FROM $36::text AND f."span_conversation_id"::text IS NOT DISTINCT FROM $37::text AND f."span_trace_id"::text IS NOT DISTINCT FROM $38::text AND f."scorer_trace_id"::text IS NOT DISTINCT FROM $39::text AND f."scorer_tags"::text IS NOT DISTINCT FROM $40::text AND f."scorer_tag_reasons"::text IS NOT DISTINCT FROM $41::text AND f."scorer_tag_confidences"::text IS NOT DISTINCT FROM $42::text AND f."scorer_ratings"::text IS NOT DISTINCT FROM $43::text AND f."scorer_rating_reasons"::text IS NOT DISTINCT FROM $44::text AND f."scorer_rating_confidences"::text IS NOT DISTINCT FROM $45::text AND f."payload"::text IS NOT DISTINCT FROM $46::text) AS is_same FROM f;

WITH f AS (
  INSERT INTO feedback AS f (project_id, id, user_id, is_opaque, "feedback_type", "ref", "annotation_ref", "runnable_ref", "call_ref", "trigger_ref", "queue_id", "creator", "span_agent_name", "span_agent_version", "span_status_code", "span_conversation_id", "span_trace_id", "scorer_trace_id", "scorer_tags", "scorer_tag_reasons", "scorer_tag_confidences", "scorer_ratings", "scorer_rating_reasons", "scorer_rating_confidences", "payload", "event_times")
  VALUES ($1, $2, $3, $4::boolean, $5::"text", $6::"text", $7::"text", $8::"text", $9::"text", $10::"text", $11::"text", $12::"text", $13::"text", $14::"text", $15::"text", $16::"text", $17::"text", $18::"text", $19::"json", $20::"json", $21::"json", $22::"json", $23::"json", $24::"json", $25::"json", $26::"json")
  ON CONFLICT (project_id, id) DO UPDATE SET id = f.id
  RETURNING *)
  SELECT (SELECT row_to_json(t)::text FROM (SELECT f.id AS "id", to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", f.user_id AS "svc_user_id", f.payload AS "payload") t) AS json,
  (f."feedback_type"::text IS NOT DISTINCT FROM $27::text AND f."ref"::text IS NOT DISTINCT FROM $28::text AND f."annotation_ref"::text IS NOT DISTINCT FROM $29::text AND f."runnable_ref"::text IS NOT DISTINCT FROM $30::text AND f."call_ref"::text IS NOT DISTINCT FROM $31::text AND f."trigger_ref"::text IS NOT DISTINCT FROM $32::text AND f."queue_id"::text IS NOT DISTINCT FROM $33::text AND f."creator"::text IS NOT DISTINCT FROM $34::text AND f."span_agent_name"::text IS NOT DISTINCT FROM $35::text AND f."span_agent_version"::text IS NOT DISTINCT FROM $36::text AND f."span_status_code"::text IS NOT DISTINCT FROM $37::text AND f."span_conversation_id"::text IS NOT DISTINCT FROM $38::text AND f."span_trace_id"::text IS NOT DISTINCT FROM $39::text AND f."scorer_trace_id"::text IS NOT DISTINCT FROM $40::text AND f."scorer_tags"::text IS NOT DISTINCT FROM $41::text AND f."scorer_tag_reasons"::text IS NOT DISTINCT FROM $42::text AND f."scorer_tag_confidences"::text IS NOT DISTINCT FROM $43::text AND f."scorer_ratings"::text IS NOT DISTINCT FROM $44::text AND f."scorer_rating_reasons"::text IS NOT DISTINCT FROM $45::text AND f."scorer_rating_confidences"::text IS NOT DISTINCT FROM $46::text AND f."payload"::text IS NOT DISTINCT FROM $47::text AND f."event_times"::text IS NOT DISTINCT FROM $48::text) AS is_same FROM f;

-- feedback.query:feedbackQuery
SELECT (SELECT row_to_json(t)::text FROM (SELECT f.id AS "id", f.project_id AS "project_id", to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", (CASE WHEN starts_with(f.ref, $1::text) THEN $2::text || substr(f.ref, $3::int) ELSE f.ref END) AS "svc_ref", (CASE WHEN starts_with(f.feedback_type, $4::text) THEN $5::text || substr(f.feedback_type, $6::int) ELSE f.feedback_type END) AS "feedback_type", f.payload AS "payload", f.creator AS "creator", (CASE WHEN starts_with(f.annotation_ref, $7::text) THEN $8::text || substr(f.annotation_ref, $9::int) ELSE f.annotation_ref END) AS "annotation_ref", (CASE WHEN starts_with(f.runnable_ref, $10::text) THEN $11::text || substr(f.runnable_ref, $12::int) ELSE f.runnable_ref END) AS "runnable_ref", (CASE WHEN starts_with(f.call_ref, $13::text) THEN $14::text || substr(f.call_ref, $15::int) ELSE f.call_ref END) AS "call_ref", (CASE WHEN starts_with(f.trigger_ref, $16::text) THEN $17::text || substr(f.trigger_ref, $18::int) ELSE f.trigger_ref END) AS "trigger_ref", f.queue_id AS "queue_id", coalesce(f."scorer_tags", '[]') AS "scorer_tags", coalesce(f."scorer_tag_reasons", '{}') AS "scorer_tag_reasons", coalesce(f."scorer_tag_confidences", '{}') AS "scorer_tag_confidences", coalesce(f."scorer_ratings", '{}') AS "scorer_ratings", coalesce(f."scorer_rating_reasons", '{}') AS "scorer_rating_reasons", coalesce(f."scorer_rating_confidences", '{}') AS "scorer_rating_confidences", coalesce(f."span_agent_name", '') AS "span_agent_name", coalesce(f."span_agent_version", '') AS "span_agent_version", coalesce(f."span_status_code", 'UNSET') AS "span_status_code", coalesce(f."span_conversation_id", '') AS "span_conversation_id", coalesce(f."span_trace_id", '') AS "span_trace_id", coalesce(f."scorer_trace_id", '') AS "scorer_trace_id", f.user_id AS "svc_user_id") t) AS json FROM (
  SELECT f.* FROM feedback f WHERE f.project_id = $19 AND CASE
  WHEN split_part(f.ref, '/', $20::int) || '/' || split_part(f.ref, '/', $21::int) <> $22 THEN TRUE
  WHEN split_part(f.ref, '/', $23::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $24 AND c.id = split_part(f.ref, '/', $25::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $26::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $27 AND c.trace_id = split_part(f.ref, '/', $28::int)) IS NOT FALSE
  ELSE TRUE END ORDER BY f.created_at ASC NULLS LAST, f.id COLLATE "C" ASC NULLS LAST
  LIMIT $29::bigint OFFSET $30::bigint) f; -- a list

-- feedback.query:countQuery
SELECT count(*)::int AS total_count FROM feedback f WHERE f.project_id = $1 AND CASE
  WHEN split_part(f.ref, '/', $2::int) || '/' || split_part(f.ref, '/', $3::int) <> $4 THEN TRUE
  WHEN split_part(f.ref, '/', $5::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $6 AND c.id = split_part(f.ref, '/', $7::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $8::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $9 AND c.trace_id = split_part(f.ref, '/', $10::int)) IS NOT FALSE
  ELSE TRUE END;

-- feedback.query:purgeQuery
WITH gone AS (DELETE FROM feedback f WHERE f.project_id = $1 AND (f.id = $2::text) RETURNING 1)
  SELECT count(*)::int AS num_purged FROM gone;

-- feedback.query:mergeableQuery
SELECT f.feedback_type, f.ref, f.payload::text AS payload, f.event_times::text AS event_times
  FROM feedback f WHERE f.project_id = $1 AND f.id = $2;

-- feedback.query:replacedDelete
DELETE FROM feedback WHERE project_id = $1 AND id = $2 RETURNING ref;
