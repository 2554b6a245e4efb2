-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- bounded-rows:checkedRows
SELECT row_to_json(t)::text FROM (
  SELECT s.payload FROM (
  SELECT DISTINCT ON (f.feedback_type, f.trigger_ref) f.payload, f.created_at, f.id FROM feedback f WHERE f.project_id = $1 AND f.created_at >= $2::timestamptz AND octet_length(f.payload::text) <= $3::int AND CASE
  WHEN split_part(f.ref, '/', $4::int) || '/' || split_part(f.ref, '/', $5::int) <> $6 THEN TRUE
  WHEN split_part(f.ref, '/', $7::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $8 AND c.id = split_part(f.ref, '/', $9::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $10::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $11 AND c.trace_id = split_part(f.ref, '/', $12::int)) IS NOT FALSE
  ELSE TRUE END ORDER BY f.feedback_type, f.trigger_ref, f.created_at DESC, f.id DESC) s
  ORDER BY s.created_at DESC, s.id LIMIT $13::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT t.place, s.id AS span_id, s.trace_id, s.operation_name, s.status, s.duration_ms FROM json_array_elements_text($1::json) WITH ORDINALITY t (id, place) CROSS JOIN LATERAL (
  SELECT c.id, c.trace_id, c.operation AS operation_name, (CASE WHEN c.exception IS NOT NULL THEN 'ERROR'
  WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $2::text[]) IN ('1', 'STATUS_CODE_OK') THEN 'OK' ELSE 'UNSET' END) AS status,
  round(coalesce((CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), 0)) AS duration_ms, c.started_at
  FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND (c.thread_id || '') = t.id AND c.thread_id <> '' ORDER BY c.started_at, c.id LIMIT $4::bigint) s
  ORDER BY t.place, s.started_at, s.id LIMIT $5::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  WITH s AS MATERIALIZED (
  SELECT c.started_at, left((nullif(c.thread_id, ''))::text, $1::int) AS "v0" FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($3::text[]) AND c.started_at >= $4::timestamptz AND c.started_at < $5::timestamptz),
  largest AS MATERIALIZED (SELECT "v0" FROM s GROUP BY "v0"  ORDER BY count(*) DESC, "v0" COLLATE "C" LIMIT $6::bigint)
  SELECT width_bucket(s.started_at, $7::timestamptz[]) - 1 AS bucket, to_json(ARRAY[to_json("v0")]::json[]) AS keys, to_json(ARRAY[]::json[]) AS values
  FROM s WHERE (SELECT jsonb_object_agg(json_build_array(l."v0")::text, 1) FROM largest l) ? json_build_array(s."v0")::text GROUP BY 1, "v0" ORDER BY 1, "v0" COLLATE "C") t; -- a list

SELECT row_to_json(t)::text FROM (
  WITH w AS MATERIALIZED (
  SELECT NULL::float8 AS bucket, f.scorer_tags, f.scorer_ratings, coalesce((CASE WHEN starts_with(f.runnable_ref, $1::text) THEN $2::text || substr(f.runnable_ref, $3::int) ELSE f.runnable_ref END), '') AS "k0" FROM feedback f WHERE f.project_id = $4 AND f.created_at >= to_timestamp($5::float8 / 1000) AND f.created_at < to_timestamp($6::float8 / 1000) AND CASE
  WHEN split_part(f.ref, '/', $7::int) || '/' || split_part(f.ref, '/', $8::int) <> $9 THEN TRUE
  WHEN split_part(f.ref, '/', $10::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $11 AND c.id = split_part(f.ref, '/', $12::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $13::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $14 AND c.trace_id = split_part(f.ref, '/', $15::int)) IS NOT FALSE
  ELSE TRUE END
  )
  SELECT a.* FROM (
  SELECT w.bucket, json_build_array(w."k0") AS keys, 'total' AS kind, NULL AS name, count(*)::int AS count,
  count(*) FILTER (WHERE json_array_length(w.scorer_tags) > 0 OR w.scorer_ratings::text <> '{}')::int AS scored, 0::float8 AS sum
  FROM w GROUP BY w.bucket, w."k0"
  UNION ALL
  SELECT w.bucket, json_build_array(w."k0"), 'tag', t.tag, count(*)::int, 0, 0 FROM w CROSS JOIN LATERAL json_array_elements_text(w.scorer_tags) t (tag)
  GROUP BY w.bucket, w."k0", t.tag
  UNION ALL
  SELECT w.bucket, json_build_array(w."k0"), 'rating', r.key, count(*)::int, 0, sum(r.value::float8) FROM w CROSS JOIN LATERAL json_each_text(w.scorer_ratings) r
  GROUP BY w.bucket, w."k0", r.key) a
  ORDER BY a.bucket, a.keys::text COLLATE "C", a.kind, a.name COLLATE "C") t; -- a list

-- feedback-erasing.query:eraseOf
WITH doomed AS MATERIALIZED (SELECT f.id FROM unnest($1::text[]) r (ref) CROSS JOIN LATERAL (
  (SELECT f.id FROM feedback f WHERE f.project_id = $2 AND f.ref >= r.ref AND f.ref <= r.ref
  ORDER BY f.ref, f.id LIMIT $3::bigint)
  UNION ALL
  (SELECT f.id FROM feedback f WHERE f.project_id = $4 AND f.ref > r.ref || '/' AND f.ref < r.ref || '0'
  ORDER BY f.ref, f.id LIMIT $5::bigint)) f
  LIMIT $6::bigint), locked AS MATERIALIZED (
  SELECT f.id FROM feedback f WHERE f.project_id = $7 AND f.id IN (SELECT id FROM doomed)
  ORDER BY f.id FOR UPDATE
  )
  DELETE FROM feedback f USING locked l WHERE f.project_id = $8 AND f.id = l.id RETURNING 1;

-- held-parts.query
SELECT EXISTS (SELECT FROM ((SELECT DISTINCT t.trace_id FROM calls t WHERE t.project_id = $1 AND (t.thread_id || '') = $2)) h CROSS JOIN LATERAL (SELECT c.id FROM calls c WHERE c.project_id = $3 AND c.trace_id = h.trace_id
  AND (c.op_name IS NOT NULL AND (c.id IN (SELECT unnest($4::text[])))) IS TRUE OFFSET 0) "held") AS is_hit;

SELECT EXISTS (SELECT FROM ((SELECT DISTINCT t.trace_id FROM calls t WHERE t.project_id = $1 AND (t.thread_id || '') = $2)) h CROSS JOIN LATERAL (SELECT c.id FROM calls c WHERE c.project_id = $3 AND c.trace_id = h.trace_id
  AND (c.op_name IS NOT NULL AND (c.id IN (WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($5::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  ) SELECT id FROM family))) IS TRUE OFFSET 0) "held") AS is_hit;

SELECT EXISTS (SELECT FROM (SELECT $1::text COLLATE "C" AS trace_id) h CROSS JOIN LATERAL (SELECT c.id FROM calls c WHERE c.project_id = $2 AND c.trace_id = h.trace_id
  AND (c.op_name IS NOT NULL AND (c.id IN (SELECT unnest($3::text[])))) IS TRUE OFFSET 0) "held") AS is_hit;

SELECT EXISTS (SELECT FROM (SELECT $1::text COLLATE "C" AS trace_id) h CROSS JOIN LATERAL (SELECT c.id FROM calls c WHERE c.project_id = $2 AND c.trace_id = h.trace_id
  AND (c.op_name IS NOT NULL AND (c.id IN (WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($4::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  ) SELECT id FROM family))) IS TRUE OFFSET 0) "held") AS is_hit;

SELECT EXISTS (SELECT FROM feedback f WHERE f.project_id = $1 AND (f.id = $2::text) AND (CASE
  WHEN split_part(f.ref, '/', $3::int) || '/' || split_part(f.ref, '/', $4::int) <> $5 THEN FALSE
  WHEN split_part(f.ref, '/', $6::int) IN ('call', 'agent_span') THEN coalesce((SELECT c.trace_id FROM calls c WHERE c.project_id = $7 AND c.id = split_part(f.ref, '/', $8::int)), split_part(f.ref, '/', $9::int)) IN ((SELECT DISTINCT t.trace_id FROM calls t WHERE t.project_id = $10 AND (t.thread_id || '') = $11))
  WHEN split_part(f.ref, '/', $12::int) = 'agent_turn' THEN split_part(f.ref, '/', $13::int) IN ((SELECT DISTINCT t.trace_id FROM calls t WHERE t.project_id = $14 AND (t.thread_id || '') = $15))
  WHEN split_part(f.ref, '/', $16::int) = 'agent_conversation' THEN split_part(f.ref, '/', $17::int) = ANY($18::text[])
  END IS TRUE)) AS is_hit;

SELECT EXISTS (SELECT FROM feedback f WHERE f.project_id = $1 AND (f.id = $2::text) AND (CASE
  WHEN split_part(f.ref, '/', $3::int) || '/' || split_part(f.ref, '/', $4::int) <> $5 THEN FALSE
  WHEN split_part(f.ref, '/', $6::int) IN ('call', 'agent_span') THEN coalesce((SELECT c.trace_id FROM calls c WHERE c.project_id = $7 AND c.id = split_part(f.ref, '/', $8::int)), split_part(f.ref, '/', $9::int)) IN (SELECT $10::text COLLATE "C" AS trace_id)
  WHEN split_part(f.ref, '/', $11::int) = 'agent_turn' THEN split_part(f.ref, '/', $12::int) IN (SELECT $13::text COLLATE "C" AS trace_id)
  WHEN split_part(f.ref, '/', $14::int) = 'agent_conversation' THEN split_part(f.ref, '/', $15::int) = ANY($16::text[])
  END IS TRUE)) AS is_hit;

-- held-parts.query:heldAmong
SELECT c.id FROM unnest($1::text[]) w (id) CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.op_name FROM calls c WHERE c.project_id = $2 AND c.id = w.id OFFSET 0) "c"
  WHERE c.op_name IS NULL OR c.trace_id IN ((SELECT DISTINCT t.trace_id FROM calls t WHERE t.project_id = $3 AND (t.thread_id || '') = $4) UNION ALL SELECT $5::text COLLATE "C" AS trace_id);
