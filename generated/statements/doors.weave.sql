-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- agent-feedback.query:signalsOn
SELECT f.place, (CASE WHEN starts_with(f.feedback_type, $1::text) THEN $2::text || substr(f.feedback_type, $3::int) ELSE f.feedback_type END) AS feedback_type, f.scorer_tags AS tags, f.scorer_ratings AS ratings, f.scorer_rating_reasons AS reasons,
  f.scorer_rating_confidences AS confidences
  FROM (SELECT f.*, sum((coalesce(octet_length(f."scorer_tags"::text), 0) + coalesce(octet_length(f."scorer_tag_reasons"::text), 0) + coalesce(octet_length(f."scorer_tag_confidences"::text), 0) + coalesce(octet_length(f."scorer_ratings"::text), 0) + coalesce(octet_length(f."scorer_rating_reasons"::text), 0) + coalesce(octet_length(f."scorer_rating_confidences"::text), 0))) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
  FROM (SELECT r.place, f.* FROM unnest($4::text[], $5::int[]) r (ref, place) CROSS JOIN LATERAL (SELECT f.* FROM feedback f WHERE f.project_id = $6 AND f.ref = r.ref AND CASE
  WHEN split_part(f.ref, '/', $7::int) || '/' || split_part(f.ref, '/', $8::int) <> $9 THEN TRUE
  WHEN split_part(f.ref, '/', $10::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $11 AND c.id = split_part(f.ref, '/', $12::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $13::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $14 AND c.trace_id = split_part(f.ref, '/', $15::int)) IS NOT FALSE
  ELSE TRUE END AND (f.feedback_type = ANY($16::text[])) OFFSET 0) "f"
  ORDER BY f.created_at DESC, f.id DESC LIMIT $17::bigint) f) f
  WHERE f.bytes <= $18::bigint ORDER BY f.created_at, f.id;

-- search.query:searchedSpans
SELECT row_to_json(t)::text FROM (
  SELECT c.id, c.trace_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, c.thread_id, c.operation,
  c.agent_name, c.attributes, c.inputs, c.output
  FROM (
  SELECT c.* FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($2::text[]) ORDER BY c.started_at DESC, c.id DESC LIMIT (SELECT $3::bigint + $4::bigint)) c
  WHERE TRUE AND octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0) <= $5::int
  AND TRUE
  ORDER BY c.started_at DESC, c.id DESC) t; -- a list

-- spans.query:shown
SELECT row_to_json(t)::text FROM (SELECT c."id", c."trace_id", c."parent_id", c."op_name", c."exception", c."operation", c."agent_name", c."agent_version", c."linked_call_id", c."thread_id", c."user_id", c."run_id", c."run_step", c."run_step_end", c."attributes", c."counts_gross", to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $1::text[]) AS kind, (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $2::text[]) AS status, (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage,
  NULL AS records, NULL AS inputs, NULL AS output, NULL AS raw FROM (SELECT c.* FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($4::text[]) ORDER BY c.started_at DESC, c.id COLLATE "C" ASC NULLS LAST LIMIT $5::bigint OFFSET $6::bigint) c) t; -- a list

-- spans.query:spansCount
SELECT count(*)::int AS total_count FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($2::text[]);

-- spans.query:customAttributes
SELECT t.key, t.value_type, count(*)::int AS span_count FROM (
  SELECT e.key, CASE WHEN json_typeof(e.value) = 'boolean' THEN 'bool' WHEN json_typeof(e.value) <> 'number' THEN 'string'
  WHEN e.value::text ~ '^-?[0-9]+$' THEN 'int' ELSE 'float' END AS value_type
  FROM calls c
  CROSS JOIN LATERAL json_each(CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END) e
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($2::text[]) AND e.key <> ALL($3::text[]) AND json_typeof(e.value) <> 'null'
  AND octet_length(e.key) <= $4::int) t
  GROUP BY 1, 2 ORDER BY t.key COLLATE "C", t.value_type LIMIT $5::bigint OFFSET $6::bigint;

-- spans.query:traceCalls
SELECT row_to_json(t)::text FROM (
  SELECT c."id", c."trace_id", c."parent_id", c."op_name", c."exception", c."operation", c."agent_name", c."agent_version", c."linked_call_id", c."thread_id", c."user_id", c."run_id", c."run_step", c."run_step_end", c."attributes", c."counts_gross", to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $1::text[]) AS kind, (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $2::text[]) AS status, (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage,
  (
  SELECT json_object_agg(model.llm_id, (
  SELECT json_build_object(
  'id', p.id,
  'effective_date', to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'provider_id', p.provider_id,
  'prompt_token_cost', p.prompt_token_cost::text,
  'completion_token_cost', p.completion_token_cost::text,
  'cache_read_input_token_cost', p.cache_read_input_token_cost::text,
  'cache_creation_input_token_cost', p.cache_creation_input_token_cost::text,
  'prompt_token_cost_unit', p.prompt_token_cost_unit,
  'completion_token_cost_unit', p.completion_token_cost_unit)
  FROM costs p
  WHERE p.project_id = $3 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records, c.inputs, c.output, NULL AS raw FROM (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = $5
  ORDER BY c.started_at, c.id LIMIT $6::bigint) c ORDER BY c.started_at, c.id) t; -- a list

-- spans.query:traceSize
SELECT count(*)::int AS calls, coalesce(sum(octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0)
  + octet_length(c.attributes::text)), 0)::float8 AS bytes
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = $2;

-- spans.query:turnsQuery
SELECT c.trace_id AS turn, count(*) OVER ()::int AS total FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.thread_id || '') = $2 AND c.thread_id <> '' AND c.operation IS NOT NULL
  GROUP BY c.trace_id ORDER BY min(c.started_at) DESC, turn LIMIT $3::bigint OFFSET $4::bigint;

-- spans.query:agentsQuery
WITH RECURSIVE  spans AS (
  SELECT c.agent_name, c.agent_version, c.operation, c.started_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms, c.exception IS NOT NULL AS is_error,
  (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage, c.counts_gross, true AS is_own
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.agent_name IS NOT NULL AND TRUE AND c.source = ANY($2::text[])
  UNION ALL
  SELECT o.names[1], o.names[2], c.operation, c.started_at, NULL, false, c.usage, c.counts_gross, false
  FROM calls c CROSS JOIN LATERAL (
  SELECT (WITH RECURSIVE above AS (
  SELECT c.parent_id, NULL::text[] COLLATE "C" AS names, 0 AS level
  UNION ALL
  SELECT p.parent_id, p.names, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.parent_id, CASE WHEN p.agent_name IS NOT NULL THEN ARRAY[p.agent_name, p.agent_version] END AS names FROM calls p
  WHERE p.project_id = $3 AND p.id = a.parent_id AND (p.trace_id = c.trace_id AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p"
  WHERE a.names IS NULL AND a.level < $4::int)
  SELECT a.names FROM above a WHERE a.names IS NOT NULL) AS names OFFSET 0) "o"
  WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.source = ANY($6::text[]) AND c.operation IS NOT NULL AND c.agent_name IS NULL AND (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) IS NOT NULL AND o.names IS NOT NULL
  )
  SELECT g.agent_name, g.agent_version, "g_invocation_count" AS "invocation_count", "g_span_count" AS "span_count", "g_total_input_tokens" AS "total_input_tokens", "g_total_output_tokens" AS "total_output_tokens", "g_total_duration_ms" AS "total_duration_ms", "g_error_count" AS "error_count", to_char("g_first_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "first_seen", to_char("g_last_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_seen",
  count(*) OVER ()::int AS total_count
  FROM (
  SELECT s.agent_name, '' AS agent_version, count(*) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own)::int AS "g_invocation_count", count(*) FILTER (WHERE s.is_own)::int AS "g_span_count", coalesce(sum(u.input_tokens), 0)::float8 AS "g_total_input_tokens", coalesce(sum(u.completion_tokens), 0)::float8 AS "g_total_output_tokens", round(coalesce(sum(s.duration_ms) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own), 0)::numeric)::float8 AS "g_total_duration_ms", count(*) FILTER (WHERE s.is_own AND s.is_error)::int AS "g_error_count", min(s.started_at) AS "g_first_seen", max(s.started_at) AS "g_last_seen"
  FROM spans s CROSS JOIN LATERAL (
  SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens
  FROM skein_detailed_usage(s.usage, s.counts_gross) u) u
  GROUP BY 1, 2) g
  ORDER BY "last_seen" DESC NULLS LAST, agent_name COLLATE "C", agent_version COLLATE "C"
  LIMIT $7::bigint OFFSET $8::bigint;

WITH RECURSIVE below AS (
  SELECT c.id, c.trace_id, c.agent_version, 0 AS level FROM calls c
  WHERE c.project_id = $1 AND c.agent_name = $2 AND c.deleted_at IS NULL
  UNION ALL
  SELECT c.id, c.trace_id, b.agent_version, b.level + 1 FROM below b CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $3 AND c.parent_id = b.id AND c.agent_name IS NULL
  AND c.deleted_at IS NULL AND (c.trace_id = b.trace_id) IS TRUE OFFSET 0) "c"
  WHERE b.level < $4::int), spans AS (
  SELECT c.agent_name, c.agent_version, c.operation, c.started_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms, c.exception IS NOT NULL AS is_error,
  (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage, c.counts_gross, true AS is_own
  FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.agent_name IS NOT NULL AND c.agent_name = $6 AND c.source = ANY($7::text[])
  UNION ALL
  SELECT $8::text, b.agent_version, c.operation, c.started_at, NULL, false, c.usage, c.counts_gross, false
  FROM below b CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = b.id AND c.operation IS NOT NULL AND (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) IS NOT NULL AND (c.source = ANY($10::text[])) IS TRUE OFFSET 0) "c" WHERE b.level > 0
  )
  SELECT g.agent_name, g.agent_version, "g_invocation_count" AS "invocation_count", "g_span_count" AS "span_count", "g_total_input_tokens" AS "total_input_tokens", "g_total_output_tokens" AS "total_output_tokens", "g_total_duration_ms" AS "total_duration_ms", "g_error_count" AS "error_count", to_char("g_first_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "first_seen", to_char("g_last_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_seen",
  count(*) OVER ()::int AS total_count
  FROM (
  SELECT s.agent_name, coalesce(s.agent_version, '') AS agent_version, count(*) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own)::int AS "g_invocation_count", count(*) FILTER (WHERE s.is_own)::int AS "g_span_count", coalesce(sum(u.input_tokens), 0)::float8 AS "g_total_input_tokens", coalesce(sum(u.completion_tokens), 0)::float8 AS "g_total_output_tokens", round(coalesce(sum(s.duration_ms) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own), 0)::numeric)::float8 AS "g_total_duration_ms", count(*) FILTER (WHERE s.is_own AND s.is_error)::int AS "g_error_count", min(s.started_at) AS "g_first_seen", max(s.started_at) AS "g_last_seen"
  FROM spans s CROSS JOIN LATERAL (
  SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens
  FROM skein_detailed_usage(s.usage, s.counts_gross) u) u
  GROUP BY 1, 2) g
  ORDER BY "last_seen" DESC NULLS LAST, agent_name COLLATE "C", agent_version COLLATE "C"
  LIMIT $11::bigint OFFSET $12::bigint;

-- evaluation-runs.query:rows
SELECT row_to_json(t)::text FROM (
  SELECT c.id AS evaluation_run_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS evaluation, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $4::text[])) AS model, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END AS status,
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at,
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) AS source_evaluation_run_id FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.op_name = 'Evaluation.evaluate' OR c.op_name >= $8 AND c.op_name < $9) AND c.id IN (SELECT unnest($10::text[])) ORDER BY c.started_at, c.id
  LIMIT (SELECT $11::bigint + $12::bigint) OFFSET $13::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS evaluation_run_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS evaluation, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $4::text[])) AS model, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END AS status,
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at,
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) AS source_evaluation_run_id FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.op_name = 'Evaluation.evaluate' OR c.op_name >= $8 AND c.op_name < $9) AND c.id IN (SELECT unnest($10::text[])) ORDER BY c.started_at, c.id
  OFFSET $11::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS evaluation_run_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS evaluation, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $4::text[])) AS model, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END AS status,
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at,
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) AS source_evaluation_run_id FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.op_name = 'Evaluation.evaluate' OR c.op_name >= $8 AND c.op_name < $9) ORDER BY c.started_at, c.id
  OFFSET $10::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS prediction_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS model,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $3::text[]) AS inputs, c.output, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM (
  SELECT DISTINCT $6 || v.object_id || ':' || v.digest AS op_name
  FROM object_versions v WHERE v.project_id = $7 AND v.kind = 'op' AND right(v.object_id, $8::int) = $9
  AND (v.deleted_at IS NOT NULL OR v.val #>> '{files,obj.py}' = $10)) v
  CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $11 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $12::text[]) = 'true' AND c.op_name = v.op_name OFFSET 0) "c" ORDER BY c.started_at, c.id
  OFFSET $13::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS prediction_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS model,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $3::text[]) AS inputs, c.output, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $7::text[]) = 'true' AND c.id IN (SELECT unnest($8::text[])) ORDER BY c.started_at, c.id
  LIMIT (SELECT $9::bigint + $10::bigint) OFFSET $11::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS prediction_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS model,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $3::text[]) AS inputs, c.output, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $7::text[]) = 'true' AND c.id IN (SELECT unnest($8::text[])) ORDER BY c.started_at, c.id
  OFFSET $9::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS score_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS scorer, c.output AS value,
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM (
  SELECT DISTINCT $5 || v.object_id || ':' || v.digest AS op_name
  FROM object_versions v WHERE v.project_id = $6 AND v.kind = 'op' AND right(v.object_id, $7::int) = $8
  AND (v.deleted_at IS NOT NULL OR v.val #>> '{files,obj.py}' = $9)) v
  CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $10 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $11::text[]) = 'true' AND c.op_name = v.op_name OFFSET 0) "c" ORDER BY c.started_at, c.id
  OFFSET $12::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS score_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS scorer, c.output AS value,
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) = 'true' AND c.id IN (SELECT unnest($7::text[])) ORDER BY c.started_at, c.id
  LIMIT (SELECT $8::bigint + $9::bigint) OFFSET $10::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS score_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS scorer, c.output AS value,
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) = 'true' AND c.id IN (SELECT unnest($7::text[])) ORDER BY c.started_at, c.id
  OFFSET $8::bigint) t; -- a list

-- evaluation-runs.query:scoresBeside
SELECT json_build_object('scorer', coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), c.op_name), 'output', c.output)::text FROM calls c
  WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = $3 AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]) = 'true'
  ORDER BY c.started_at, c.id LIMIT $5::bigint; -- a list

-- evaluation-runs.query:trialOutputs
SELECT coalesce(CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END, 'null'::json)::text FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = $2 AND c.ended_at IS NOT NULL
  AND (c.op_name LIKE '%Evaluation.predict_and_score%' OR c.op_name LIKE '%Evaluation.predictAndScore%')
  ORDER BY c.started_at, c.id; -- a list
