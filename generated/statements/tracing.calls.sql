-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- call.entity
COPY calls (project_id, id, is_opaque, has_unread_usage, trace_id, source, started_at, op_name, display_name, parent_id, thread_id, turn_id, user_id, run_id, operation, attributes, inputs, otel_dump, thread_source, agent_name, agent_version, linked_call_id, event_times, own_source, is_orphan, counts_gross, run_step, ended_at, exception, output, summary, response_id, usage, has_descendant_error, run_step_end) FROM STDIN (FORMAT binary);

-- calls-erasing.query:startless
SELECT c.project_id, array_agg(c.id) AS ids FROM (
  SELECT c.project_id, c.id FROM calls c WHERE c.op_name IS NULL AND c.logged_at < now() - interval '1 day'
  AND NOT EXISTS (SELECT FROM legal_holds h WHERE h.project_id = c.project_id) ORDER BY c.logged_at, c.project_id, c.id LIMIT $1::bigint) c
  GROUP BY c.project_id;

SELECT c.project_id, array_agg(c.id) AS ids FROM (
  SELECT c.project_id, c.id FROM calls c WHERE c.op_name IS NULL AND c.logged_at IS NULL ORDER BY c.logged_at, c.project_id, c.id LIMIT $1::bigint) c
  GROUP BY c.project_id;

-- calls-erasing.query:callsLock
SELECT id FROM calls WHERE project_id = $1 AND id IN (SELECT unnest($2::text[])) ORDER BY id FOR UPDATE;

-- calls-erasing.query:callsErase
DELETE FROM calls WHERE project_id = $1 AND id IN (SELECT unnest($2::text[])) RETURNING trace_id;

-- calls-erasing.query:descendantsQuery
WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $1 AND c.id IN (SELECT unnest($2::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $3 AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  )
  SELECT id FROM family ORDER BY id;

-- derived-data.service:find
SELECT json_build_array(ARRAY(
  SELECT DISTINCT s.call_id FROM dataset_row_sources s
  WHERE s.project_id = $1 AND s.call_id IN (SELECT unnest($2::text[])) AND s.erased_at IS NULL), ARRAY(
  SELECT i.id FROM annotation_queue_items i WHERE i.project_id = $3 AND i.call_id IN (SELECT unnest($4::text[]))), ARRAY(
  SELECT b.id FROM builds b
  WHERE b.project_id = $5 AND b.tainted_at IS NULL AND b.id IN (
  SELECT i.build_id FROM build_inputs i
  WHERE i.project_id = $6 AND i.kind = 'call' AND i.id IN (SELECT unnest($7::text[]))))) AS made;

-- folded-spans.query
DELETE FROM folded_spans WHERE folded_at < now() - interval '1 day';

-- call-index.entity
DELETE FROM "call_indexes" WHERE ("project_id" = $1 AND "name" = $2);

-- call-indexes.query:indexesQuery
SELECT w.field, w.kind, CASE WHEN t.is_valid THEN 'ready' WHEN w.error IS NOT NULL THEN 'failed' ELSE 'building' END AS status,
  CASE WHEN t.is_valid IS NOT TRUE THEN w.error END AS error,
  coalesce(t.bytes, 0)::float8 AS size_bytes, to_char(w.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at
  FROM call_indexes w LEFT JOIN (
  SELECT c.relname::text COLLATE "C" AS name, x.indisvalid AS is_valid, pg_relation_size(c.oid) AS bytes
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
  WHERE x.indrelid = 'calls'::regclass AND starts_with(c.relname::text, $1::text)) t ON t.name = w.name
  WHERE w.project_id = $2 AND ($3::text IS NULL OR w.name = $4) ORDER BY w.created_at, w.name;

-- call-indexes.query:countsQuery
SELECT count(*) FILTER (WHERE project_id = $1)::int AS of_project,
  count(*) FILTER (WHERE split_part(project_id, '/', 1) = split_part($2, '/', 1))::int AS of_entity, count(*)::int AS total
  FROM call_indexes WHERE (project_id, name) <> ($3, $4);

-- call-indexes.query:indexInsert
INSERT INTO call_indexes (project_id, name, field, kind) VALUES ($1, $2, $3, $4)
  ON CONFLICT (project_id, name) DO UPDATE SET error = NULL;

-- call-indexes.query:differenceQuery
SELECT coalesce(w.name, t.name) AS name, t.name IS NOT NULL AS is_there,
  CASE WHEN w.name IS NOT NULL AND w.error IS NULL THEN
  json_build_object('project_id', w.project_id, 'name', w.name, 'field', w.field, 'kind', w.kind) END AS wanted
  FROM call_indexes w FULL JOIN (
  SELECT c.relname::text COLLATE "C" AS name, x.indisvalid AS is_valid, pg_relation_size(c.oid) AS bytes
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
  WHERE x.indrelid = 'calls'::regclass AND starts_with(c.relname::text, $1::text)) t ON t.name = w.name
  WHERE CASE WHEN w.name IS NULL THEN TRUE WHEN t.name IS NULL THEN w.error IS NULL ELSE NOT t.is_valid END
  ORDER BY t.name IS NULL, w.created_at, name LIMIT 1;

-- calls.upsert:upsert
INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "run_id", NULL::text AS "run_step", NULL::text AS "is_orphan", NULL::text AS "thread_source", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "output", NULL::json AS "summary", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[], $12::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "source", "own_source", "attributes", "inputs")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "run_id", NULL::text AS "run_step", NULL::text AS "is_orphan", NULL::text AS "thread_source", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::json AS "event_times", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::json[], $19::json[], $20::json[], $21::json[], $22::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "source", "own_source", "ended_at", "exception", "run_step_end", "has_descendant_error", "response_id", "end_started_at", "end_trace_id", "attributes", "inputs", "output", "summary", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::json AS "event_times", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::json[], $27::json[], $28::json[], $29::json[], $30::json[], $31::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "source", "own_source", "ended_at", "exception", "run_step_end", "has_descendant_error", "response_id", "end_started_at", "end_trace_id", "attributes", "inputs", "otel_dump", "output", "summary", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "output", NULL::json AS "summary", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::json[], $18::json[], $19::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "attributes", "inputs", "otel_dump")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::json[], $19::json[], $20::json[], $21::json[], $22::json[], $23::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "ended_at", "attributes", "inputs", "otel_dump", "output", "summary", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::json[], $25::json[], $26::json[], $27::json[], $28::json[], $29::json[], $30::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "ended_at", "exception", "run_step_end", "has_descendant_error", "response_id", "end_started_at", "end_trace_id", "attributes", "inputs", "otel_dump", "event_times", "output", "summary", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "output", NULL::json AS "summary", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::json[], $22::json[], $23::json[]) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "op_name", NULL::text AS "trace_id", NULL::text AS "started_at", NULL::text AS "user_id", NULL::text AS "counts_gross", NULL::json AS "attributes", NULL::json AS "inputs", NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "run_id", NULL::text AS "run_step", NULL::text AS "is_orphan", NULL::text AS "thread_source", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::json[], $6::json[], $7::json[]) AS w ("id", "is_opaque", "ended_at", "output", "summary", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "op_name", NULL::text AS "trace_id", NULL::text AS "started_at", NULL::text AS "user_id", NULL::text AS "counts_gross", NULL::json AS "attributes", NULL::json AS "inputs", NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "run_id", NULL::text AS "run_step", NULL::text AS "is_orphan", NULL::text AS "thread_source", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[], $12::json[], $13::json[]) AS w ("id", "is_opaque", "ended_at", "exception", "run_step_end", "has_descendant_error", "response_id", "end_started_at", "end_trace_id", "output", "summary", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times" FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::json[], $26::json[], $27::json[], $28::json[], $29::json[], $30::json[], skein_traces($1, $2::text[], $10::text[], $17::text[])) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "new_trace", "ended_at", "exception", "run_step_end", "has_descendant_error", "response_id", "end_started_at", "end_trace_id", "attributes", "inputs", "otel_dump", "output", "summary", "usage", "found_trace")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque
  RETURNING project_id, id, trace_id;

INSERT INTO calls AS c (project_id, id, is_opaque, has_unread_usage, "op_name", "display_name", "trace_id", "parent_id", "thread_id", "turn_id", "started_at", "ended_at", "exception", "user_id", "run_id", "run_step", "run_step_end", "operation", "source", "attributes", "inputs", "output", "summary", "otel_dump", "is_orphan", "has_descendant_error", "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", "counts_gross", "event_times", "own_source")
  SELECT $1::text, id, is_opaque::boolean, false, "op_name", "display_name", CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END, "parent_id", "thread_id", "turn_id", coalesce(started_at, end_started_at)::timestamptz, "ended_at"::timestamptz, "exception", "user_id", "run_id", "run_step"::int, "run_step_end"::int, "operation", coalesce(source, 'production'), "attributes", "inputs", "output", "summary", "otel_dump", coalesce("is_orphan"::boolean, false), coalesce("has_descendant_error"::boolean, false), "thread_source", "response_id", "agent_name", "agent_version", "linked_call_id", "usage", coalesce("counts_gross"::boolean, false), "event_times", "own_source"
  FROM (SELECT w.*, NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "output", NULL::json AS "summary", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS "end_started_at", NULL::text AS "end_trace_id" FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::json[], $19::json[], $20::json[], skein_traces($1, $2::text[], $10::text[], $17::text[])) AS w ("id", "is_opaque", "op_name", "trace_id", "started_at", "user_id", "counts_gross", "display_name", "parent_id", "thread_id", "turn_id", "run_id", "run_step", "is_orphan", "thread_source", "new_trace", "attributes", "inputs", "otel_dump", "found_trace")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "display_name" = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END, "trace_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "started_at" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  ELSE CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END END, "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  ELSE CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END, "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END, "is_opaque" = c.is_opaque OR excluded.is_opaque
  RETURNING project_id, id, trace_id;

-- orphans.query
SELECT c.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c."id", c."trace_id", c."parent_id", c."op_name", c."linked_call_id", c."source", c."own_source", c.deleted_at IS NOT NULL AS is_deleted
  FROM calls c WHERE c.project_id = $2::text AND c.id = t.id OFFSET 0) "c";

-- orphans.query:childrenMark
WITH found AS MATERIALIZED (
  SELECT c.id FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id FROM calls c WHERE c.project_id = $2 AND c.parent_id = t.id AND NOT c.is_orphan OFFSET 0) "c" WHERE c.id NOT IN (SELECT unnest($3::text[])) LIMIT $4::bigint),
  locked AS MATERIALIZED (
  SELECT c.id FROM calls c WHERE c.project_id = $5 AND c.id = ANY(ARRAY(SELECT id FROM found)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET is_orphan = true
  WHERE c.project_id = $6 AND c.id = ANY(ARRAY(SELECT id FROM locked)) RETURNING c.id, c.trace_id;

-- orphans.query:walksCount
SELECT count(*)::int AS walks FROM orphan_walks;

-- orphans.query:missingParents
SELECT DISTINCT c.project_id, c.parent_id FROM calls c
  WHERE c.is_orphan AND (c.project_id, c.parent_id) > ($1, $2)
  ORDER BY c.project_id, c.parent_id LIMIT $3::bigint;

-- turn-roots.query:threadedTracesQuery
SELECT trace_id FROM skein_threaded($1, $2::text[]) t (trace_id);

-- turns.query:turnsQuery
SELECT row_number() OVER (ORDER BY c.started_at, c.id)::int AS place, c."id", c."parent_id", c."trace_id", c."thread_id", c."turn_id", c."thread_source", c."is_orphan", c.is_span
  FROM (SELECT c.* FROM unnest($1::text[]) t (trace_id) CROSS JOIN LATERAL (SELECT c."id", c."parent_id", c."trace_id", c."thread_id", c."turn_id", c."thread_source", c."is_orphan", c.started_at, c.otel_dump IS NOT NULL AS is_span
  FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = t.trace_id OFFSET 0) "c" LIMIT $3::bigint) c
  ORDER BY place;

-- call-messages.query:messagesUpsert
INSERT INTO calls AS c (project_id, id, started_at, is_opaque, logged, logged_at, has_unread_usage)
  SELECT project_id, id, least(started_at::timestamptz, now()), is_opaque::boolean, logged::jsonb, now(), false
  FROM
  unnest($1::text[], $2::text[],
  $3::text[], $4::text[],
  $5::text[]) AS w (project_id, id, started_at, is_opaque, logged)
  ORDER BY project_id COLLATE "C", id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  started_at = coalesce(c.started_at, excluded.started_at), is_opaque = c.is_opaque OR excluded.is_opaque,
  logged = skein_logged(c.logged, excluded.logged, 2000, 4194304), logged_at = CASE WHEN c.op_name IS NULL THEN excluded.logged_at ELSE c.logged_at END,
  own_inputs = CASE WHEN c.logged IS NULL THEN c.inputs ELSE c.own_inputs END, own_output = CASE WHEN c.logged IS NULL THEN c.output ELSE c.own_output END,
  inputs = CASE WHEN c.op_name IS NOT NULL THEN skein_with_logged(CASE WHEN c.logged IS NULL THEN c.inputs ELSE c.own_inputs END, skein_logged(c.logged, excluded.logged, 2000, 4194304), c.trace_id, 'inputs') END, output = CASE WHEN c.op_name IS NOT NULL THEN skein_with_logged(CASE WHEN c.logged IS NULL THEN c.output ELSE c.own_output END, skein_logged(c.logged, excluded.logged, 2000, 4194304), c.trace_id, 'output') END
  WHERE c.logged IS NULL OR jsonb_array_length(skein_logged(c.logged, excluded.logged, 2000, 4194304)) > jsonb_array_length(c.logged)
  RETURNING c.project_id, c.id, c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL AS is_awaited;

-- call-messages.query:awaitedTrim
WITH old AS (
  SELECT c.id FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL AND c.id = ANY(ARRAY(
  SELECT id FROM (
  SELECT c.id, row_number() OVER newest AS count, sum(pg_column_size(c.logged)) OVER newest AS bytes
  FROM calls c WHERE c.project_id = $2 AND c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL
  WINDOW newest AS (ORDER BY c.logged_at DESC, c.id DESC)) a
  WHERE a.count > $3::int OR a.bytes > $4::bigint))
  ORDER BY c.id FOR UPDATE SKIP LOCKED)
  DELETE FROM calls c WHERE c.project_id = $5 AND c.id = ANY(ARRAY(SELECT id FROM old));

-- calls.query:toCallRows
SELECT c."id", c."project_id", c."op_name", c."display_name", c."trace_id", c."parent_id", c."thread_id", (c.turn_id || ''), c."started_at", c."ended_at", c.exception, c."user_id", c."run_id", c."run_step", c."run_step_end", c."deleted_at", c.attributes, c.otel_dump, c."inputs", c."output", c.summary, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), coalesce(c.display_name,
  CASE WHEN (starts_with(c.op_name, $1::text) OR starts_with(c.op_name, $2::text)) AND split_part(c.op_name, '/', $3::int) <> '' AND split_part(c.op_name, '/', $4::int) <> ''
  AND split_part(c.op_name, '/', $5::int) = 'op' AND strpos(split_part(c.op_name, '/', $6::int), ':') > 1 THEN split_part(split_part(c.op_name, '/', $7::int), ':', 1) END,
  c.op_name), (
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
  WHERE p.project_id = $8 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)), to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END)::text, c.counts_gross::text FROM (SELECT c.* FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = $10) c, LATERAL (SELECT c.trace_id, ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $11 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $12 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $13 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $14::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AS is_root) r; -- a list

SELECT c."id", c."project_id", c."op_name", c."display_name", c."trace_id", c."parent_id", c."thread_id", (c.turn_id || ''), c."started_at", c."ended_at", c.exception, c."user_id", c."run_id", c."run_step", c."run_step_end", c."deleted_at", c.attributes, c.otel_dump, c."inputs", c."output", c.summary, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), coalesce(c.display_name,
  CASE WHEN (starts_with(c.op_name, $1::text) OR starts_with(c.op_name, $2::text)) AND split_part(c.op_name, '/', $3::int) <> '' AND split_part(c.op_name, '/', $4::int) <> ''
  AND split_part(c.op_name, '/', $5::int) = 'op' AND strpos(split_part(c.op_name, '/', $6::int), ':') > 1 THEN split_part(split_part(c.op_name, '/', $7::int), ':', 1) END,
  c.op_name), (
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
  WHERE p.project_id = $8 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)), to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END)::text, c.counts_gross::text, (
  SELECT ('[' || coalesce(string_agg(row_to_json(t)::text, ',' ORDER BY t.created_at, t.id), '') || ']')::json
  FROM (SELECT f.id, f.project_id, to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, (CASE WHEN starts_with(f.ref, $9::text) THEN $10::text || substr(f.ref, $11::int) ELSE f.ref END) AS "svc_ref",
  (CASE WHEN starts_with(f.feedback_type, $12::text) THEN $13::text || substr(f.feedback_type, $14::int) ELSE f.feedback_type END) AS feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref, f.queue_id, coalesce(f."scorer_tags", '[]') AS "scorer_tags", coalesce(f."scorer_tag_reasons", '{}') AS "scorer_tag_reasons", coalesce(f."scorer_tag_confidences", '{}') AS "scorer_tag_confidences", coalesce(f."scorer_ratings", '{}') AS "scorer_ratings", coalesce(f."scorer_rating_reasons", '{}') AS "scorer_rating_reasons", coalesce(f."scorer_rating_confidences", '{}') AS "scorer_rating_confidences", coalesce(f."span_agent_name", '') AS "span_agent_name", coalesce(f."span_agent_version", '') AS "span_agent_version", coalesce(f."span_status_code", 'UNSET') AS "span_status_code", coalesce(f."span_conversation_id", '') AS "span_conversation_id", coalesce(f."span_trace_id", '') AS "span_trace_id", coalesce(f."scorer_trace_id", '') AS "scorer_trace_id",
  f.user_id AS "svc_user_id"
  FROM (SELECT f.*, sum(octet_length(f.payload::text) + (coalesce(octet_length(f."scorer_tags"::text), 0) + coalesce(octet_length(f."scorer_tag_reasons"::text), 0) + coalesce(octet_length(f."scorer_tag_confidences"::text), 0) + coalesce(octet_length(f."scorer_ratings"::text), 0) + coalesce(octet_length(f."scorer_rating_reasons"::text), 0) + coalesce(octet_length(f."scorer_rating_confidences"::text), 0))) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
  FROM (SELECT f.* FROM feedback f WHERE f.project_id = $15 AND f.ref IN ($16::text || c.id, $17::text || c.id)
  ORDER BY f.created_at DESC, f.id DESC LIMIT $18::bigint) f) f
  WHERE f.bytes <= $19::bigint) t) FROM (SELECT c.* FROM calls c WHERE c.project_id = $20 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND TRUE AND TRUE ORDER BY c."started_at" ASC NULLS LAST, c."id" COLLATE "C" ASC NULLS LAST ) c, LATERAL (SELECT c.trace_id, ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $21 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $22 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $23 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $24::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AS is_root) r; -- a list

SELECT c."id", c."project_id", c."op_name", c."display_name", c."trace_id", c."parent_id", c."thread_id", (c.turn_id || ''), c."started_at", c."ended_at", c.exception, c."user_id", c."run_id", c."run_step", c."run_step_end", c."operation", c."source", c.attributes, c.otel_dump, c."inputs", c."output", c.summary, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), coalesce(c.display_name,
  CASE WHEN (starts_with(c.op_name, $1::text) OR starts_with(c.op_name, $2::text)) AND split_part(c.op_name, '/', $3::int) <> '' AND split_part(c.op_name, '/', $4::int) <> ''
  AND split_part(c.op_name, '/', $5::int) = 'op' AND strpos(split_part(c.op_name, '/', $6::int), ':') > 1 THEN split_part(split_part(c.op_name, '/', $7::int), ':', 1) END,
  c.op_name), (
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
  WHERE p.project_id = $8 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)), to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END)::text, c.counts_gross::text, (
  SELECT ('[' || coalesce(string_agg(row_to_json(t)::text, ',' ORDER BY t.created_at, t.id), '') || ']')::json
  FROM (SELECT f.id, f.project_id, to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, (CASE WHEN starts_with(f.ref, $9::text) THEN $10::text || substr(f.ref, $11::int) ELSE f.ref END) AS "svc_ref",
  (CASE WHEN starts_with(f.feedback_type, $12::text) THEN $13::text || substr(f.feedback_type, $14::int) ELSE f.feedback_type END) AS feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref, f.queue_id, coalesce(f."scorer_tags", '[]') AS "scorer_tags", coalesce(f."scorer_tag_reasons", '{}') AS "scorer_tag_reasons", coalesce(f."scorer_tag_confidences", '{}') AS "scorer_tag_confidences", coalesce(f."scorer_ratings", '{}') AS "scorer_ratings", coalesce(f."scorer_rating_reasons", '{}') AS "scorer_rating_reasons", coalesce(f."scorer_rating_confidences", '{}') AS "scorer_rating_confidences", coalesce(f."span_agent_name", '') AS "span_agent_name", coalesce(f."span_agent_version", '') AS "span_agent_version", coalesce(f."span_status_code", 'UNSET') AS "span_status_code", coalesce(f."span_conversation_id", '') AS "span_conversation_id", coalesce(f."span_trace_id", '') AS "span_trace_id", coalesce(f."scorer_trace_id", '') AS "scorer_trace_id",
  f.user_id AS "svc_user_id"
  FROM (SELECT f.*, sum(octet_length(f.payload::text) + (coalesce(octet_length(f."scorer_tags"::text), 0) + coalesce(octet_length(f."scorer_tag_reasons"::text), 0) + coalesce(octet_length(f."scorer_tag_confidences"::text), 0) + coalesce(octet_length(f."scorer_ratings"::text), 0) + coalesce(octet_length(f."scorer_rating_reasons"::text), 0) + coalesce(octet_length(f."scorer_rating_confidences"::text), 0))) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
  FROM (SELECT f.* FROM feedback f WHERE f.project_id = $15 AND f.ref IN ($16::text || c.id, $17::text || c.id)
  ORDER BY f.created_at DESC, f.id DESC LIMIT $18::bigint) f) f
  WHERE f.bytes <= $19::bigint) t) FROM (SELECT c.* FROM calls c WHERE c.project_id = $20 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND ((c."started_at" >= $21::timestamptz) AND (c."started_at" < $22::timestamptz)) AND TRUE ORDER BY c."started_at" ASC NULLS LAST, c."id" COLLATE "C" ASC NULLS LAST ) c, LATERAL (SELECT c.trace_id, ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $23 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $24 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $25 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $26::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AS is_root) r; -- a list

SELECT c."id", c."project_id", c."op_name", c."display_name", c."trace_id", c."parent_id", c."thread_id", (c.turn_id || ''), c."started_at", c."ended_at", c.exception, c."user_id", c."run_id", c."run_step", c."run_step_end", c."operation", c."source", c.attributes, c.otel_dump, c."inputs", c."output", c.summary, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), coalesce(c.display_name,
  CASE WHEN (starts_with(c.op_name, $1::text) OR starts_with(c.op_name, $2::text)) AND split_part(c.op_name, '/', $3::int) <> '' AND split_part(c.op_name, '/', $4::int) <> ''
  AND split_part(c.op_name, '/', $5::int) = 'op' AND strpos(split_part(c.op_name, '/', $6::int), ':') > 1 THEN split_part(split_part(c.op_name, '/', $7::int), ':', 1) END,
  c.op_name), (
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
  WHERE p.project_id = $8 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)), to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END)::text, c.counts_gross::text, (
  SELECT ('[' || coalesce(string_agg(row_to_json(t)::text, ',' ORDER BY t.created_at, t.id), '') || ']')::json
  FROM (SELECT f.id, f.project_id, to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, (CASE WHEN starts_with(f.ref, $9::text) THEN $10::text || substr(f.ref, $11::int) ELSE f.ref END) AS "svc_ref",
  (CASE WHEN starts_with(f.feedback_type, $12::text) THEN $13::text || substr(f.feedback_type, $14::int) ELSE f.feedback_type END) AS feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref, f.queue_id, coalesce(f."scorer_tags", '[]') AS "scorer_tags", coalesce(f."scorer_tag_reasons", '{}') AS "scorer_tag_reasons", coalesce(f."scorer_tag_confidences", '{}') AS "scorer_tag_confidences", coalesce(f."scorer_ratings", '{}') AS "scorer_ratings", coalesce(f."scorer_rating_reasons", '{}') AS "scorer_rating_reasons", coalesce(f."scorer_rating_confidences", '{}') AS "scorer_rating_confidences", coalesce(f."span_agent_name", '') AS "span_agent_name", coalesce(f."span_agent_version", '') AS "span_agent_version", coalesce(f."span_status_code", 'UNSET') AS "span_status_code", coalesce(f."span_conversation_id", '') AS "span_conversation_id", coalesce(f."span_trace_id", '') AS "span_trace_id", coalesce(f."scorer_trace_id", '') AS "scorer_trace_id",
  f.user_id AS "svc_user_id"
  FROM (SELECT f.*, sum(octet_length(f.payload::text) + (coalesce(octet_length(f."scorer_tags"::text), 0) + coalesce(octet_length(f."scorer_tag_reasons"::text), 0) + coalesce(octet_length(f."scorer_tag_confidences"::text), 0) + coalesce(octet_length(f."scorer_ratings"::text), 0) + coalesce(octet_length(f."scorer_rating_reasons"::text), 0) + coalesce(octet_length(f."scorer_rating_confidences"::text), 0))) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
  FROM (SELECT f.* FROM feedback f WHERE f.project_id = $15 AND f.ref IN ($16::text || c.id, $17::text || c.id)
  ORDER BY f.created_at DESC, f.id DESC LIMIT $18::bigint) f) f
  WHERE f.bytes <= $19::bigint) t) FROM (SELECT c.* FROM calls c WHERE c.project_id = $20 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND TRUE AND TRUE ORDER BY c."started_at" ASC NULLS LAST, c."id" COLLATE "C" ASC NULLS LAST ) c, LATERAL (SELECT c.trace_id, ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $21 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $22 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $23 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $24::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AS is_root) r; -- a list

-- calls.query:callsStatsQuery
SELECT count(*)::int AS count FROM (
  SELECT 1 FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($2::text[])
  LIMIT $3::bigint) t;

-- calls.query:tracesQuery
SELECT c.id, c.trace_id FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT id, trace_id FROM calls WHERE project_id = $2 AND id = t.id AND trace_id IS NOT NULL OFFSET 0) "c";

-- calls.query:updateQuery
INSERT INTO calls AS c (project_id, id, display_name, has_unread_usage, is_renamed)
  VALUES ($1, $2, $3, false, true)
  ON CONFLICT (project_id, id) DO UPDATE SET is_renamed = true,
  display_name = CASE WHEN c.op_name IS NULL THEN excluded.display_name ELSE nullif(excluded.display_name, '') END;

-- calls.query:deleteQuery
WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($2::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  ), locked AS (
  SELECT id FROM calls WHERE project_id = $4 AND id = ANY(ARRAY(SELECT id FROM family)) ORDER BY id FOR UPDATE
  ), deleted AS (
  UPDATE calls SET deleted_at = now()
  WHERE project_id = $5 AND id = ANY(ARRAY(SELECT id FROM locked)) AND deleted_at IS NULL RETURNING id
  )
  SELECT (SELECT count(*)::int FROM deleted) AS num_deleted,
  ARRAY(SELECT id FROM deleted WHERE id = ANY($6::text[]) ORDER BY id LIMIT $7::bigint) AS named,
  json_build_array(ARRAY(
  SELECT DISTINCT s.call_id FROM dataset_row_sources s
  WHERE s.project_id = $8 AND s.call_id IN (SELECT id FROM deleted) AND s.erased_at IS NULL), ARRAY(
  SELECT i.id FROM annotation_queue_items i WHERE i.project_id = $9 AND i.call_id IN (SELECT id FROM deleted)), ARRAY(
  SELECT b.id FROM builds b
  WHERE b.project_id = $10 AND b.erased_at IS NULL AND b.id IN (
  SELECT i.build_id FROM build_inputs i
  WHERE i.project_id = $11 AND i.kind = 'call' AND i.id IN (SELECT id FROM deleted)))) AS made;

-- calls.query:storedQuery
SELECT c.id, c."op_name" AS "op_name", c."display_name" AS "display_name", c."trace_id" AS "trace_id", c."parent_id" AS "parent_id", c."thread_id" AS "thread_id", c."turn_id" AS "turn_id", to_char(c."started_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "started_at", to_char(c."ended_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "ended_at", c."exception" AS "exception", c."run_id" AS "svc_run_id", c."run_step" AS "svc_run_step", c."run_step_end" AS "svc_run_step_end", c."attributes"::text AS "attributes", c."inputs"::text AS "inputs", c."output"::text AS "output", c."summary"::text AS "summary", c."otel_dump"::text AS "otel_dump", c.event_times::text
  FROM calls c WHERE c.project_id = $1 AND c.id = ANY($2::text[]) AND c.op_name IS NOT NULL;

-- calls.query:mostBytesQuery
SELECT c.id, ((coalesce(pg_column_size(c."attributes")::bigint
  * CASE pg_column_compression(c."attributes") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."inputs")::bigint
  * CASE pg_column_compression(c."inputs") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."output")::bigint
  * CASE pg_column_compression(c."output") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."summary")::bigint
  * CASE pg_column_compression(c."summary") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."otel_dump")::bigint
  * CASE pg_column_compression(c."otel_dump") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0)) + coalesce(pg_column_size(c.event_times)::bigint
  * CASE pg_column_compression(c.event_times) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0))::float8 AS bytes
  FROM calls c WHERE c.project_id = $1 AND c.id = ANY($2::text[]) AND c.op_name IS NOT NULL;

-- calls.query:rootQuery
SELECT c.id, num_nonnulls(c.parent_id, c.event_times) = 2 AS is_below FROM (SELECT c.* FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = $2 AND (c.parent_id IS NULL OR c.is_orphan)
  ORDER BY c.started_at, c.id LIMIT $3::bigint OFFSET 0) "c" WHERE ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $6 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $7::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) ORDER BY c.started_at, c.id LIMIT 1;

-- call-sources.query:inheritedSourcesSet
WITH found AS MATERIALIZED (
  SELECT c.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.linked_call_id, c.source FROM calls c
  WHERE c.project_id = $2 AND c.id = t.id AND c.own_source IS NULL LIMIT 1 OFFSET 0) "c"), above AS MATERIALIZED (
  SELECT f.*, (SELECT a.source FROM calls a WHERE a.project_id = $3 AND a.id = f.parent_id AND a.op_name IS NOT NULL LIMIT 1) AS of_parent, (SELECT a.source FROM calls a WHERE a.project_id = $4 AND a.id = f.linked_call_id AND a.op_name IS NOT NULL LIMIT 1) AS of_linked
  FROM found f
  ), wanted AS MATERIALIZED (
  SELECT w.id, w.taken FROM (
  SELECT a.id, a.source, coalesce(nullif(a.of_parent, $5), nullif(a.of_linked, $6),
  CASE WHEN a.parent_id IS NOT NULL AND a.of_parent IS NULL OR a.linked_call_id IS NOT NULL AND a.of_linked IS NULL
  THEN a.source ELSE $7 END) AS taken
  FROM above a) w
  WHERE w.taken <> w.source LIMIT $8::bigint
  ), locked AS MATERIALIZED (
  SELECT c.id FROM calls c WHERE c.project_id = $9 AND c.id = ANY(ARRAY(SELECT id FROM wanted)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET source = (SELECT jsonb_object_agg(w.id, w.taken) FROM wanted w) ->> c.id
  WHERE c.project_id = $10 AND c.id = ANY(ARRAY(SELECT id FROM locked)) AND c.own_source IS NULL
  RETURNING c.id;

WITH found AS MATERIALIZED (
  SELECT c.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.linked_call_id, c.source FROM calls c
  WHERE c.project_id = $2 AND c.parent_id = t.id AND c.own_source IS NULL OFFSET 0) "c"
  UNION
  SELECT c.* FROM unnest($3::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.linked_call_id, c.source FROM calls c
  WHERE c.project_id = $4 AND c.linked_call_id = t.id AND c.own_source IS NULL OFFSET 0) "c"), above AS MATERIALIZED (
  SELECT f.*, (SELECT a.source FROM calls a WHERE a.project_id = $5 AND a.id = f.parent_id AND a.op_name IS NOT NULL LIMIT 1) AS of_parent, (SELECT a.source FROM calls a WHERE a.project_id = $6 AND a.id = f.linked_call_id AND a.op_name IS NOT NULL LIMIT 1) AS of_linked
  FROM found f
  ), wanted AS MATERIALIZED (
  SELECT w.id, w.taken FROM (
  SELECT a.id, a.source, coalesce(nullif(a.of_parent, $7), nullif(a.of_linked, $8),
  CASE WHEN a.parent_id IS NOT NULL AND a.of_parent IS NULL OR a.linked_call_id IS NOT NULL AND a.of_linked IS NULL
  THEN a.source ELSE $9 END) AS taken
  FROM above a) w
  WHERE w.taken <> w.source LIMIT $10::bigint
  ), locked AS MATERIALIZED (
  SELECT c.id FROM calls c WHERE c.project_id = $11 AND c.id = ANY(ARRAY(SELECT id FROM wanted)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET source = (SELECT jsonb_object_agg(w.id, w.taken) FROM wanted w) ->> c.id
  WHERE c.project_id = $12 AND c.id = ANY(ARRAY(SELECT id FROM locked)) AND c.own_source IS NULL
  RETURNING c.id;

-- call-slots.query:namedSlots
WITH RECURSIVE up AS (
  SELECT c.id, c.parent_id, c.trace_id, c.started_at, ((c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $1 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $2 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $3::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $4 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $5 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $6::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $7::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $8::float8), d.started_at + make_interval(mins => $9::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $10 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $11 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $12::float8), c.started_at + make_interval(mins => $13::int))
  ORDER BY d.started_at, d.id LIMIT $14::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $15 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $16::float8), c.started_at + make_interval(mins => $17::int))
  ORDER BY d.started_at, d.id LIMIT $18::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $19 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AND NOT (c.response_id IS NOT NULL AND NOT c.response_id LIKE $20 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1')) AS is_last FROM calls c
  WHERE c.project_id = $21 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($22::text[])
  UNION
  SELECT c.* FROM unnest($23::text[]) AS p (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.started_at, false AS is_last FROM calls c
  WHERE c.project_id = $24 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.response_id >= $25::text || p.id || '/' AND c.response_id < $26::text || p.id || '0' OFFSET 0) "c"
  UNION
  SELECT c.* FROM (SELECT DISTINCT response, slot
  FROM unnest($27::text[], $28::timestamptz[]) AS s (response, slot)) s CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.started_at, false AS is_last FROM calls c
  WHERE c.project_id = $29 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.response_id = s.response
  AND c.started_at >= s.slot - make_interval(mins => $30::int) AND c.started_at < s.slot + interval '5 minutes' + make_interval(mins => $31::int) OFFSET 0) "c"
  UNION
  SELECT c.* FROM up CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.started_at, ((c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $32 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $33 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $34::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $35 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $36 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $37::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $38::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $39::float8), d.started_at + make_interval(mins => $40::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $41 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $42 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $43::float8), c.started_at + make_interval(mins => $44::int))
  ORDER BY d.started_at, d.id LIMIT $45::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $46 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $47::float8), c.started_at + make_interval(mins => $48::int))
  ORDER BY d.started_at, d.id LIMIT $49::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $50 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AND NOT (c.response_id IS NOT NULL AND NOT c.response_id LIKE $51 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1')) AS is_last FROM calls c
  WHERE c.project_id = $52 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = up.parent_id AND (c.trace_id = up.trace_id) IS TRUE OFFSET 0) "c"
  WHERE NOT up.is_last
  )
  SELECT DISTINCT s.slot::text, s.slot >= now() - interval '5 minutes' AS is_open, (extract(epoch FROM s.slot) * 1000)::float8 AS ms
  FROM (SELECT date_bin(interval '5 minutes', up.started_at, 'epoch') AS slot FROM up) s;

-- call-slots.query:marksTake
WITH taken AS (
  DELETE FROM call_slot_marks WHERE project_id = $1 AND slot = ANY(ARRAY(
  (SELECT DISTINCT m.slot FROM call_slot_marks m WHERE m.project_id = $2 AND m.slot < now() - interval '5 minutes'
  ORDER BY m.slot LIMIT $3::bigint)
  UNION ALL
  (SELECT m.slot FROM call_slot_marks m WHERE m.project_id = $4 AND m.slot >= now() - interval '5 minutes'
  GROUP BY m.slot HAVING count(*) > 1 OR sum(m.call_count) <> 0)))
  RETURNING slot, call_count, bytes, made_at, parent_ids, response_ids)
  SELECT slot::text AS slot, sum(call_count)::text AS calls, sum(bytes)::text AS bytes, max(made_at)::text AS made_at, slot >= now() - interval '5 minutes' AS is_open,
  json_build_object('parents', coalesce(json_agg(parent_ids) FILTER (WHERE parent_ids IS NOT NULL), '[]'),
  'responses', coalesce(json_agg(response_ids) FILTER (WHERE response_ids IS NOT NULL), '[]')) AS names
  FROM taken GROUP BY taken.slot ORDER BY taken.slot;

-- call-slots.query:marksKeep
INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, made_at)
  SELECT $1, slot, 0, bytes, made_at
  FROM unnest($2::timestamptz[], $3::bigint[],
  $4::timestamptz[]) AS s (slot, bytes, made_at);

-- call-slots.query:slotsDelete
WITH models AS (
  DELETE FROM call_slot_models WHERE project_id = $1 AND slot = ANY($2::timestamptz[])
  )
  DELETE FROM call_slots WHERE project_id = $3 AND slot = ANY($4::timestamptz[]) RETURNING bytes::text;

-- call-slots.query:slotsInsert
INSERT INTO call_slots (project_id, slot, call_count, ended_count, error_count, instant_count,
  latency_sum, latency_min, latency_max, latencies, bytes)
  SELECT $1, s.slot, t.* FROM unnest($2::timestamptz[]) AS s (slot) CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE c.source = 'production') AS call_count,
  count(*) FILTER (WHERE c.ended_at >= c.started_at AND c.source = 'production') AS ended_count, count(c.exception) FILTER (WHERE c.source = 'production') AS error_count,
  count(*) FILTER (WHERE c.ended_at = c.started_at AND c.source = 'production') AS instant_count,
  sum((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latency_sum, min((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latency_min,
  max((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latency_max, string_agg(int8send((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint), ''::bytea ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latencies,
  coalesce(sum(coalesce(pg_column_size(c."attributes"), 0) + coalesce(pg_column_size(c."inputs"), 0) + coalesce(pg_column_size(c."output"), 0) + coalesce(pg_column_size(c."summary"), 0) + coalesce(pg_column_size(c."otel_dump"), 0)), 0) AS bytes FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= s.slot AND c.started_at < s.slot + interval '5 minutes') t
  WHERE t.call_count > 0 OR t.bytes > 0 RETURNING bytes::text;

-- call-slots.query:slotModels
SELECT row_to_json(t)::text AS row FROM (
  SELECT u.slot, u.llm_id, width_bucket(u.input_tokens, $1::bigint[]) AS tier, u.unknown_kinds, count(*) AS call_count, sum(u.prompt_tokens) AS prompt_tokens,
  sum(u.completion_tokens) AS completion_tokens, sum(u.cache_read_input_tokens) AS cache_read_input_tokens,
  sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens,
  min(u.input_tokens) AS min_input, max(u.input_tokens) AS max_input, CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END AS details
  FROM (
  WITH RECURSIVE own AS MATERIALIZED (
  SELECT c.id, c.trace_id, c.response_id, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $2 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum, c.slot, u.llm_id, u.unknown_kinds,
  u.input_tokens AS said_input, u.completion_tokens AS said_output, u.cache_read_input_tokens AS said_read,
  u.cache_creation_input_tokens AS said_created, u.details AS said_details
  FROM (SELECT s.slot, c.* FROM unnest($3::timestamptz[]) AS s (slot)
  CROSS JOIN LATERAL (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= s.slot AND c.started_at < s.slot + interval '5 minutes' AND c.source = 'production' OFFSET 0) "c") c CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $5 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $6 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $7::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $8 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $9 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $10::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $11::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $12::float8), d.started_at + make_interval(mins => $13::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $14 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $15 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $16::float8), c.started_at + make_interval(mins => $17::int))
  ORDER BY d.started_at, d.id LIMIT $18::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $19 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $20::float8), c.started_at + make_interval(mins => $21::int))
  ORDER BY d.started_at, d.id LIMIT $22::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $23 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))
  ), walk AS (
  SELECT DISTINCT o.id AS owner, CASE WHEN NOT o.is_sum THEN o.response_id END AS response_id, o.tells_one, o.id, o.trace_id, CASE WHEN o.tells_one THEN o.response_id END AS inside,
  true AS goes_on, false AS is_below, false AS is_same FROM own o
  UNION ALL
  SELECT w.owner, w.response_id, w.tells_one, c.id, c.trace_id,
  CASE WHEN c.says AND c.tells_one AND NOT w.tells_one THEN c.response_id ELSE w.inside END,
  NOT c.says OR (c.tells_one AND NOT w.tells_one),
  c.says AND CASE WHEN w.inside IS NULL THEN true WHEN w.tells_one THEN c.told IS NULL AND NOT c.is_sum
  ELSE c.is_sum OR (c.told IS NOT NULL AND c.told <> w.inside) END,
  c.says AND c.response_id = w.response_id
  FROM walk w CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.response_id, CASE WHEN NOT c.response_id LIKE $24 THEN c.response_id END AS told,
  (c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $25 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $26 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $27::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $28 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $29 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $30::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $31::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $32::float8), d.started_at + make_interval(mins => $33::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $34 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $35 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $36::float8), c.started_at + make_interval(mins => $37::int))
  ORDER BY d.started_at, d.id LIMIT $38::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $39 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $40::float8), c.started_at + make_interval(mins => $41::int))
  ORDER BY d.started_at, d.id LIMIT $42::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $43 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AS says, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $44 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum FROM calls c
  WHERE c.project_id = $45 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = w.id AND c.id <> w.owner AND (c.trace_id = w.trace_id) IS TRUE OFFSET 0) "c"
  WHERE w.goes_on
  ), below AS MATERIALIZED (
  SELECT w.owner, u.llm_id, sum(u.input_tokens)::bigint AS input, sum(u.completion_tokens)::bigint AS output,
  sum(u.cache_read_input_tokens)::bigint AS read, sum(u.cache_creation_input_tokens)::bigint AS created,
  (CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END)::bigint[] AS details
  FROM walk w CROSS JOIN LATERAL (SELECT c.usage, c.counts_gross FROM calls c WHERE c.project_id = $46 AND c.id = w.id OFFSET 0) "c"
  CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE w.is_below GROUP BY 1, 2
  ), totals AS (
  SELECT b.owner, min(b.llm_id) AS llm_id, count(*) = 1 AS is_one, sum(b.input) AS input, sum(b.output) AS output, sum(greatest(b.input - coalesce(o.said_input, 0), 0)) AS more_input,
  sum(greatest(b.output - coalesce(o.said_output, 0), 0)) AS more_output
  FROM below b LEFT JOIN own o ON o.id = b.owner AND o.llm_id = b.llm_id GROUP BY 1
  ), beyond AS (
  SELECT o.id, o.llm_id, b.owner IS NOT NULL OR o.is_sum AS is_told, greatest(o.said_input - coalesce(b.input, 0), 0) AS input,
  greatest(o.said_output - coalesce(b.output, 0), 0) AS output, greatest(o.said_read - coalesce(b.read, 0), 0) AS read,
  greatest(o.said_created - coalesce(b.created, 0), 0) AS created, b.details AS details_below,
  CASE WHEN o.is_sum THEN t.more_input ELSE 0 END AS more_input, CASE WHEN o.is_sum THEN t.more_output ELSE 0 END AS more_output,
  t.is_one AND count(*) OVER (PARTITION BY o.id) = 1 AND o.said_input = t.input AND o.said_output = t.output
  AND (starts_with(regexp_replace(lower(o.llm_id), $47, '', 'g'), regexp_replace(lower(t.llm_id), $48, '', 'g')) OR starts_with(regexp_replace(lower(t.llm_id), $49, '', 'g'), regexp_replace(lower(o.llm_id), $50, '', 'g'))
  OR $51 IN (o.llm_id, t.llm_id)) AS is_all
  FROM own o JOIN totals t ON t.owner = o.id LEFT JOIN below b ON b.owner = o.id AND b.llm_id = o.llm_id
  ), remaining AS (
  SELECT y.*, greatest(y.input - greatest(y.more_input - (sum(y.input) OVER before - y.input), 0), 0)::bigint AS input_tokens,
  greatest(y.output - greatest(y.more_output - (sum(y.output) OVER before - y.output), 0), 0)::bigint AS completion_tokens
  FROM beyond y WHERE NOT y.is_all AND NOT EXISTS (SELECT FROM walk w WHERE w.owner = y.id AND w.is_same)
  WINDOW before AS (PARTITION BY y.id ORDER BY y.llm_id ROWS UNBOUNDED PRECEDING)
  ), tokens AS (
  SELECT o.*, o.said_input AS input_tokens, o.said_output AS completion_tokens, o.said_read AS read, o.said_created AS created,
  NULL::bigint[] AS details_below
  FROM own o WHERE NOT EXISTS (SELECT FROM walk w WHERE w.owner = o.id AND (w.is_below OR w.is_same))
  UNION ALL
  SELECT o.*, r.input_tokens, r.completion_tokens, r.read, r.created, r.details_below
  FROM own o JOIN remaining r ON r.id = o.id AND r.llm_id = o.llm_id
  WHERE NOT r.is_told OR r.input_tokens > 0 OR r.completion_tokens > 0
  ), cached AS (
  SELECT t.*, least(t.read, t.input_tokens) AS cache_read_input_tokens,
  least(t.created, t.input_tokens - least(t.read, t.input_tokens)) AS cache_creation_input_tokens FROM tokens t
  )
  SELECT c.*, c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens AS prompt_tokens, CASE WHEN c.said_details IS NOT NULL THEN skein_details_left(c.said_details, c.details_below,
  ARRAY[c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens, c.completion_tokens, c.cache_read_input_tokens, c.cache_creation_input_tokens], $52::int[]) END AS details FROM cached c) u GROUP BY 1, 2, 3, 4) t;

-- call-stats.query:boundedRowsQuery
WITH found AS MATERIALIZED (SELECT "bucket", "llm_id", "segment", "tier", "unknown_kinds", "op_name", sum(call_count)::float8 AS call_count,
  sum(prompt_tokens)::text AS prompt_tokens, sum(completion_tokens)::text AS completion_tokens,
  sum(cache_read_input_tokens)::text AS cache_read_input_tokens,
  sum(cache_creation_input_tokens)::text AS cache_creation_input_tokens, min(min_input)::float8 AS min_input,
  max(max_input)::float8 AS max_input, (CASE WHEN count(t.details) > 0 THEN ARRAY[coalesce(sum(t.details[1]), 0), coalesce(sum(t.details[2]), 0), coalesce(sum(t.details[3]), 0), coalesce(sum(t.details[4]), 0), coalesce(sum(t.details[5]), 0), coalesce(sum(t.details[6]), 0), coalesce(sum(t.details[7]), 0), coalesce(sum(t.details[8]), 0), coalesce(sum(t.details[9]), 0), coalesce(sum(t.details[10]), 0), coalesce(sum(t.details[11]), 0)] END)::text[] AS details,
  (extract(epoch FROM min(first)) * 1000)::float8 AS first, (extract(epoch FROM max(last)) * 1000)::float8 AS last
  FROM (SELECT width_bucket(u.started_at, $1::timestamptz[]) - 1 AS "bucket", u.llm_id AS "llm_id", width_bucket(u.started_at, $2::timestamptz[]) AS "segment", width_bucket(u.input_tokens, $3::bigint[]) AS "tier", u.unknown_kinds AS "unknown_kinds", u."op_name" AS "op_name", count(*) AS call_count, sum(u.prompt_tokens) AS prompt_tokens,
  sum(u.completion_tokens) AS completion_tokens, sum(u.cache_read_input_tokens) AS cache_read_input_tokens,
  sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens,
  min(u.input_tokens) AS min_input, max(u.input_tokens) AS max_input, CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END AS details, min(u.started_at) AS first, max(u.started_at) AS last
  FROM (
  WITH RECURSIVE own AS MATERIALIZED (
  SELECT c.id, c.trace_id, c.response_id, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $4 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum, c.started_at AS "started_at", c.op_name AS "op_name", u.llm_id, u.unknown_kinds,
  u.input_tokens AS said_input, u.completion_tokens AS said_output, u.cache_read_input_tokens AS said_read,
  u.cache_creation_input_tokens AS said_created, u.details AS said_details
  FROM (SELECT c.* FROM unnest($5::timestamptz[], $6::timestamptz[]) AS r (since, until) CROSS JOIN LATERAL (
  SELECT c.* FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= r.since AND c.started_at < r.until AND c.source = ANY($8::text[])) c) c CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $9 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $10 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $11::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $12 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $13 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $14::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $15::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $16::float8), d.started_at + make_interval(mins => $17::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $18 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $19 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $20::float8), c.started_at + make_interval(mins => $21::int))
  ORDER BY d.started_at, d.id LIMIT $22::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $23 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $24::float8), c.started_at + make_interval(mins => $25::int))
  ORDER BY d.started_at, d.id LIMIT $26::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $27 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))
  ), walk AS (
  SELECT DISTINCT o.id AS owner, CASE WHEN NOT o.is_sum THEN o.response_id END AS response_id, o.tells_one, o.id, o.trace_id, CASE WHEN o.tells_one THEN o.response_id END AS inside,
  true AS goes_on, false AS is_below, false AS is_same FROM own o
  UNION ALL
  SELECT w.owner, w.response_id, w.tells_one, c.id, c.trace_id,
  CASE WHEN c.says AND c.tells_one AND NOT w.tells_one THEN c.response_id ELSE w.inside END,
  NOT c.says OR (c.tells_one AND NOT w.tells_one),
  c.says AND CASE WHEN w.inside IS NULL THEN true WHEN w.tells_one THEN c.told IS NULL AND NOT c.is_sum
  ELSE c.is_sum OR (c.told IS NOT NULL AND c.told <> w.inside) END,
  c.says AND c.response_id = w.response_id
  FROM walk w CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.response_id, CASE WHEN NOT c.response_id LIKE $28 THEN c.response_id END AS told,
  (c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $29 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $30 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $31::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $32 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $33 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $34::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $35::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $36::float8), d.started_at + make_interval(mins => $37::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $38 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $39 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $40::float8), c.started_at + make_interval(mins => $41::int))
  ORDER BY d.started_at, d.id LIMIT $42::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $43 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $44::float8), c.started_at + make_interval(mins => $45::int))
  ORDER BY d.started_at, d.id LIMIT $46::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_detailed_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $47 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AS says, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $48 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum FROM calls c
  WHERE c.project_id = $49 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = w.id AND c.id <> w.owner AND (c.trace_id = w.trace_id) IS TRUE OFFSET 0) "c"
  WHERE w.goes_on
  ), below AS MATERIALIZED (
  SELECT w.owner, u.llm_id, sum(u.input_tokens)::bigint AS input, sum(u.completion_tokens)::bigint AS output,
  sum(u.cache_read_input_tokens)::bigint AS read, sum(u.cache_creation_input_tokens)::bigint AS created,
  (CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END)::bigint[] AS details
  FROM walk w CROSS JOIN LATERAL (SELECT c.usage, c.counts_gross FROM calls c WHERE c.project_id = $50 AND c.id = w.id OFFSET 0) "c"
  CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE w.is_below GROUP BY 1, 2
  ), totals AS (
  SELECT b.owner, min(b.llm_id) AS llm_id, count(*) = 1 AS is_one, sum(b.input) AS input, sum(b.output) AS output, sum(greatest(b.input - coalesce(o.said_input, 0), 0)) AS more_input,
  sum(greatest(b.output - coalesce(o.said_output, 0), 0)) AS more_output
  FROM below b LEFT JOIN own o ON o.id = b.owner AND o.llm_id = b.llm_id GROUP BY 1
  ), beyond AS (
  SELECT o.id, o.llm_id, b.owner IS NOT NULL OR o.is_sum AS is_told, greatest(o.said_input - coalesce(b.input, 0), 0) AS input,
  greatest(o.said_output - coalesce(b.output, 0), 0) AS output, greatest(o.said_read - coalesce(b.read, 0), 0) AS read,
  greatest(o.said_created - coalesce(b.created, 0), 0) AS created, b.details AS details_below,
  CASE WHEN o.is_sum THEN t.more_input ELSE 0 END AS more_input, CASE WHEN o.is_sum THEN t.more_output ELSE 0 END AS more_output,
  t.is_one AND count(*) OVER (PARTITION BY o.id) = 1 AND o.said_input = t.input AND o.said_output = t.output
  AND (starts_with(regexp_replace(lower(o.llm_id), $51, '', 'g'), regexp_replace(lower(t.llm_id), $52, '', 'g')) OR starts_with(regexp_replace(lower(t.llm_id), $53, '', 'g'), regexp_replace(lower(o.llm_id), $54, '', 'g'))
  OR $55 IN (o.llm_id, t.llm_id)) AS is_all
  FROM own o JOIN totals t ON t.owner = o.id LEFT JOIN below b ON b.owner = o.id AND b.llm_id = o.llm_id
  ), remaining AS (
  SELECT y.*, greatest(y.input - greatest(y.more_input - (sum(y.input) OVER before - y.input), 0), 0)::bigint AS input_tokens,
  greatest(y.output - greatest(y.more_output - (sum(y.output) OVER before - y.output), 0), 0)::bigint AS completion_tokens
  FROM beyond y WHERE NOT y.is_all AND NOT EXISTS (SELECT FROM walk w WHERE w.owner = y.id AND w.is_same)
  WINDOW before AS (PARTITION BY y.id ORDER BY y.llm_id ROWS UNBOUNDED PRECEDING)
  ), tokens AS (
  SELECT o.*, o.said_input AS input_tokens, o.said_output AS completion_tokens, o.said_read AS read, o.said_created AS created,
  NULL::bigint[] AS details_below
  FROM own o WHERE NOT EXISTS (SELECT FROM walk w WHERE w.owner = o.id AND (w.is_below OR w.is_same))
  UNION ALL
  SELECT o.*, r.input_tokens, r.completion_tokens, r.read, r.created, r.details_below
  FROM own o JOIN remaining r ON r.id = o.id AND r.llm_id = o.llm_id
  WHERE NOT r.is_told OR r.input_tokens > 0 OR r.completion_tokens > 0
  ), cached AS (
  SELECT t.*, least(t.read, t.input_tokens) AS cache_read_input_tokens,
  least(t.created, t.input_tokens - least(t.read, t.input_tokens)) AS cache_creation_input_tokens FROM tokens t
  )
  SELECT c.*, c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens AS prompt_tokens, CASE WHEN c.said_details IS NOT NULL THEN skein_details_left(c.said_details, c.details_below,
  ARRAY[c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens, c.completion_tokens, c.cache_read_input_tokens, c.cache_creation_input_tokens], $56::int[]) END AS details FROM cached c) u GROUP BY "bucket", "llm_id", "segment", "tier", "unknown_kinds", "op_name") t GROUP BY "bucket", "llm_id", "segment", "tier", "unknown_kinds", "op_name" LIMIT $57::bigint)
  SELECT size.is_too_large, found.* FROM (
  SELECT count(*) > $58::bigint OR sum(octet_length(found::text)) > $59::bigint AS is_too_large FROM found) size
  LEFT JOIN found ON NOT size.is_too_large WHERE size.is_too_large OR found.bucket IS NOT NULL ORDER BY bucket, llm_id COLLATE "C", "op_name", segment, tier, unknown_kinds;

WITH found AS MATERIALIZED (SELECT "bucket", "op_name", sum(call_count)::float8 AS call_count,
  sum(ended_count)::float8 AS ended_count, sum(error_count)::float8 AS error_count, sum(instant_count)::float8 AS instant_count,
  sum(latency_sum)::text AS latency_sum, min(latency_min)::text AS latency_min, max(latency_max)::text AS latency_max,
  min(percentiles) AS percentiles FROM (SELECT width_bucket(c.started_at, $1::timestamptz[]) - 1 AS "bucket", c.op_name AS "op_name", count(*) FILTER (WHERE TRUE) AS call_count,
  count(*) FILTER (WHERE c.ended_at >= c.started_at AND TRUE) AS ended_count, count(c.exception) FILTER (WHERE TRUE) AS error_count,
  count(*) FILTER (WHERE c.ended_at = c.started_at AND TRUE) AS instant_count,
  sum((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE TRUE) AS latency_sum, min((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE TRUE) AS latency_min,
  max((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE TRUE) AS latency_max,
  ARRAY[]::float8[] AS percentiles FROM unnest($2::timestamptz[], $3::timestamptz[]) AS r (since, until) CROSS JOIN LATERAL (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= r.since AND c.started_at < r.until AND c.source = ANY($5::text[])) c GROUP BY "bucket", "op_name") t GROUP BY "bucket", "op_name" LIMIT $6::bigint)
  SELECT size.is_too_large, found.* FROM (
  SELECT count(*) > $7::bigint OR sum(octet_length(found::text)) > $8::bigint AS is_too_large FROM found) size
  LEFT JOIN found ON NOT size.is_too_large WHERE size.is_too_large OR found.bucket IS NOT NULL ORDER BY "bucket", "op_name";

-- call-matches.query:searchedCalls
SELECT row_to_json(t)::text FROM (
  SELECT c.id, s.is_large, CASE WHEN NOT s.is_large AND c."display_name"::text ~ $1::text THEN c."display_name" END AS "display_name", CASE WHEN NOT s.is_large AND c."op_name"::text ~ $2::text THEN c."op_name" END AS "op_name", CASE WHEN NOT s.is_large AND c."exception"::text ~ $3::text THEN c."exception" END AS "exception", CASE WHEN NOT s.is_large AND c."inputs"::text ~ $4::text THEN c."inputs" END AS "inputs", CASE WHEN NOT s.is_large AND c."output"::text ~ $5::text THEN c."output" END AS "output", CASE WHEN NOT s.is_large AND c."attributes"::text ~ $6::text THEN c."attributes" END AS "attributes", CASE WHEN NOT s.is_large AND c."summary"::text ~ $7::text THEN c."summary" END AS "summary"
  FROM calls c CROSS JOIN LATERAL (SELECT coalesce(octet_length(c."display_name"::text), 0)::bigint + coalesce(octet_length(c."op_name"::text), 0)::bigint + coalesce(octet_length(c."exception"::text), 0)::bigint + coalesce(octet_length(c."inputs"::text), 0)::bigint + coalesce(octet_length(c."output"::text), 0)::bigint + coalesce(octet_length(c."attributes"::text), 0)::bigint + coalesce(octet_length(c."summary"::text), 0)::bigint > $8::bigint AS is_large OFFSET 0) "s"
  WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($10::text[]))
  ORDER BY array_position($11::text[], c.id), c.id) t; -- a list

-- call-texts.query
DELETE FROM "call_text_ids" WHERE project_id = $1 AND segment = ANY($2::bigint[]);

DELETE FROM "call_text_parts" WHERE project_id = $1 AND segment = ANY($2::bigint[]);

DELETE FROM "call_text_segments" WHERE project_id = $1 AND segment = ANY($2::bigint[]);

-- call-texts.query:marksTake
DELETE FROM call_text_marks WHERE project_id = $1 AND id = ANY(ARRAY(
  SELECT m.id FROM (
  SELECT m.id, sum(cardinality(m.call_ids)) OVER (ORDER BY m.id) - cardinality(m.call_ids) AS before
  FROM (SELECT m.* FROM call_text_marks m WHERE m.project_id = $2 ORDER BY m.id LIMIT $3::bigint) m) m
  WHERE m.before < $4::bigint))
  RETURNING slot, call_ids, is_erasing;

-- call-texts.query:textSizes
SELECT c.id, c.started_at::text AS first_at, c.started_at::text AS last_at, c.bytes FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.started_at, (coalesce(CASE WHEN pg_column_compression(c."display_name") IS NULL THEN pg_column_size(c."display_name") ELSE octet_length(c."display_name"::text) END, 0) + coalesce(CASE WHEN pg_column_compression(c."op_name") IS NULL THEN pg_column_size(c."op_name") ELSE octet_length(c."op_name"::text) END, 0) + coalesce(CASE WHEN pg_column_compression(c."exception") IS NULL THEN pg_column_size(c."exception") ELSE octet_length(c."exception"::text) END, 0) + coalesce(CASE WHEN pg_column_compression(c."attributes") IS NULL THEN pg_column_size(c."attributes") ELSE octet_length(c."attributes"::text) END, 0) + coalesce(CASE WHEN pg_column_compression(c."inputs") IS NULL THEN pg_column_size(c."inputs") ELSE octet_length(c."inputs"::text) END, 0) + coalesce(CASE WHEN pg_column_compression(c."output") IS NULL THEN pg_column_size(c."output") ELSE octet_length(c."output"::text) END, 0) + coalesce(CASE WHEN pg_column_compression(c."summary") IS NULL THEN pg_column_size(c."summary") ELSE octet_length(c."summary"::text) END, 0))::float8 AS bytes FROM calls c
  WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id OFFSET 0) "c" ORDER BY c.started_at, c.id;

-- call-texts.query:textsOf
SELECT c.* FROM unnest($1::text[]) WITH ORDINALITY t (id, place) CROSS JOIN LATERAL (SELECT c.id, c.started_at::text AS first_at, c.started_at::text AS last_at, concat_ws(E'
  ', c."display_name", c."op_name", c."exception") AS names,
  concat_ws(E'
  ', c."attributes"::text, c."inputs"::text, c."output"::text, c."summary"::text) AS documents
  FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id OFFSET 0) "c" ORDER BY t.place;

-- call-texts.query:segmentInsert
INSERT INTO call_text_segments (project_id, calls, bytes, bits, first_at, last_at)
  VALUES ($1, $2, $3, $4, $5::timestamptz, $6::timestamptz)
  RETURNING segment;

-- call-texts.query:partsInsert
INSERT INTO call_text_parts (project_id, segment, part, bytes)
  SELECT $1, $2::bigint, p.* FROM unnest($3::int[],
  $4::bytea[]) AS p (part, bytes);

-- call-texts.query:idsInsert
INSERT INTO call_text_ids (project_id, segment, "row", ids, first_at, last_at)
  SELECT $1, $2::bigint, r.* FROM unnest($3::int[], $4::json[],
  $5::timestamptz[], $6::timestamptz[])
  AS r ("row", ids, first_at, last_at);

-- call-texts.query:segmentsAt
SELECT s.segment::text, s.calls, s.bytes, s.bits, s.first_at::text, s.last_at::text, floor(extract(epoch FROM s.first_at) * 1000)::float8 AS first FROM call_text_segments s WHERE s.project_id = $1 AND EXISTS (
  SELECT FROM unnest($2::timestamptz[]) t (slot) WHERE s.first_at < t.slot + interval '5 minutes' AND s.last_at >= t.slot)
  ORDER BY s.first_at, s.segment;

-- call-texts.query:smallSegments
SELECT s.segment::text, s.calls, s.bytes, s.bits, s.first_at::text, s.last_at::text FROM call_text_segments s
  WHERE s.project_id = $1 AND s.calls <= $2::int ORDER BY s.segment;

-- call-texts.query:idsOf
SELECT i.ids, i.first_at::text, i.last_at::text FROM call_text_ids i WHERE i.project_id = $1 AND i.segment = $2::bigint ORDER BY i."row";

-- call-texts.query:nextWalk
SELECT w.project_id, w.before::text FROM call_text_walks w
  WHERE NOT EXISTS (SELECT FROM call_text_marks m WHERE m.project_id = w.project_id) LIMIT 1;

-- call-usage.query:usageRows
SELECT row_to_json(t)::text FROM (
  SELECT c."id", c."parent_id", c."trace_id", c."linked_call_id", c."response_id", c."counts_gross", c.is_linked, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, c.ended_at IS NULL AS is_running,
  octet_length(c.usage::text) > $1 AS is_large,
  CASE WHEN octet_length(c.usage::text) <= $2 THEN c.usage END AS usage,
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
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records
  FROM (
  WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($5::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  ), found AS MATERIALIZED (
  SELECT c.* FROM calls c
  WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY(ARRAY(SELECT id FROM family LIMIT $8::bigint)))
  SELECT f.*, false AS is_linked FROM found f
  UNION ALL
  SELECT c.*, true FROM (
  SELECT s.* FROM (SELECT f.id FROM found f) l CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.linked_call_id = l.id OFFSET 0) "s" LIMIT $10::bigint) c
  WHERE NOT EXISTS (SELECT FROM found f WHERE f.id = c.id)) c
  ) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c."id", c."parent_id", c."trace_id", c."linked_call_id", c."response_id", c."counts_gross", c.is_linked, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, c.ended_at IS NULL AS is_running,
  octet_length(c.usage::text) > $1 AS is_large,
  CASE WHEN octet_length(c.usage::text) <= $2 THEN c.usage END AS usage,
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
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records
  FROM (
  WITH found AS MATERIALIZED (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = ANY($5::text[]) LIMIT $6::bigint)
  SELECT f.*, false AS is_linked FROM found f
  UNION ALL
  SELECT c.*, true FROM (
  SELECT s.* FROM (SELECT f.id FROM found f) l CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.linked_call_id = l.id OFFSET 0) "s" LIMIT $8::bigint) c
  WHERE NOT EXISTS (SELECT FROM found f WHERE f.id = c.id)) c
  ) t; -- a list

-- unread-usage.query:unreadCount
SELECT count(*)::int AS rows FROM (SELECT c.id FROM calls c WHERE (c.has_unread_usage OR c.usage IS NOT NULL AND (c.usage -> 0 ->> 'reader') IS DISTINCT FROM '1') LIMIT $1::bigint) c;
