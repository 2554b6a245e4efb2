-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- threads.query:threadsQuery
SELECT row_to_json(w)::text AS json FROM (
  SELECT t.thread_id AS "thread_id", t.turn_count AS "turn_count", to_char(t.start_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "start_time", to_char(t.last_updated AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_updated", t.first_turn_id AS "first_turn_id", t.last_turn_id AS "last_turn_id", t.p50_turn_duration_ms AS "p50_turn_duration_ms", t.p99_turn_duration_ms AS "p99_turn_duration_ms" FROM (
  SELECT t.* FROM (
  (SELECT t.thread_id, t.turn_count, t.start_time, t.last_updated, t.first_turn_id, t.last_turn_id,
  t.p50_turn_duration_ms, t.p99_turn_duration_ms FROM threads t
  WHERE t.project_id = $1 AND TRUE
  AND
  CASE WHEN (SELECT count(*) FROM (SELECT FROM thread_marks m WHERE m.project_id = $2 LIMIT $3::bigint) s) <= $4::bigint
  THEN t.thread_id NOT IN (SELECT m.thread_id FROM thread_marks m WHERE m.project_id = $5 LIMIT $6::bigint)
  ELSE (SELECT TRUE FROM thread_marks m WHERE m.project_id = $7 AND m.thread_id = t.thread_id LIMIT 1) IS NOT TRUE
  END
  ORDER BY t.last_updated DESC, t.thread_id COLLATE "C" ASC NULLS LAST )
  UNION ALL
  (
  SELECT m.*, s.* FROM (SELECT t.* FROM (
  SELECT m.*, s.* FROM (SELECT DISTINCT m.thread_id FROM thread_marks m WHERE m.project_id = $8) m CROSS JOIN LATERAL (
  SELECT count(*)::int AS turn_count, min(c.started_at) AS start_time, max(coalesce(c.ended_at, c.started_at)) AS last_updated FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = c.turn_id AND c.thread_id <> '' AND c.thread_id = m.thread_id AND (TRUE) IS TRUE) s) t WHERE t.turn_count > 0 AND TRUE ORDER BY t.last_updated DESC, t.thread_id COLLATE "C" ASC NULLS LAST ) m CROSS JOIN LATERAL (
  SELECT
  (array_agg(c.id ORDER BY c.started_at, c.id))[1] AS first_turn_id,
  (array_agg(c.id ORDER BY coalesce(c.ended_at, c.started_at) DESC, c.id))[1] AS last_turn_id,
  percentile_cont($10::float8) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)::float8) AS p50_turn_duration_ms,
  percentile_cont($11::float8) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)::float8) AS p99_turn_duration_ms FROM calls c WHERE c.project_id = $12 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = c.turn_id AND c.thread_id <> '' AND c.thread_id = m.thread_id AND (TRUE) IS TRUE) s)) t ORDER BY t.last_updated DESC, t.thread_id COLLATE "C" ASC NULLS LAST LIMIT $13::bigint OFFSET $14::bigint
  ) t) w; -- a list

-- threads.query:marksTake
WITH taken AS (
  DELETE FROM thread_marks WHERE project_id = $1 AND ctid = ANY(ARRAY(
  SELECT ctid FROM thread_marks WHERE project_id = $2 ORDER BY thread_id LIMIT $3::bigint))
  RETURNING thread_id)
  SELECT count(*)::int AS taken, coalesce(array_agg(DISTINCT thread_id), '{}') AS threads FROM taken;

-- threads.query:threadsStore
INSERT INTO threads AS t (project_id, thread_id, turn_count, start_time, last_updated, first_turn_id, last_turn_id,
  p50_turn_duration_ms, p99_turn_duration_ms)
  SELECT $1, fresh.* FROM (
  SELECT m.*, s.* FROM (SELECT thread_id FROM unnest($2::text[]) AS m (thread_id)) m CROSS JOIN LATERAL (
  SELECT count(*)::int AS turn_count, min(c.started_at) AS start_time, max(coalesce(c.ended_at, c.started_at)) AS last_updated,
  (array_agg(c.id ORDER BY c.started_at, c.id))[1] AS first_turn_id,
  (array_agg(c.id ORDER BY coalesce(c.ended_at, c.started_at) DESC, c.id))[1] AS last_turn_id,
  percentile_cont($3::float8) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)::float8) AS p50_turn_duration_ms,
  percentile_cont($4::float8) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)::float8) AS p99_turn_duration_ms FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = c.turn_id AND c.thread_id <> '' AND c.thread_id = m.thread_id AND (TRUE) IS TRUE) s) fresh
  WHERE turn_count > 0
  ON CONFLICT (project_id, thread_id) DO UPDATE SET turn_count = excluded.turn_count, start_time = excluded.start_time,
  last_updated = excluded.last_updated, first_turn_id = excluded.first_turn_id, last_turn_id = excluded.last_turn_id,
  p50_turn_duration_ms = excluded.p50_turn_duration_ms, p99_turn_duration_ms = excluded.p99_turn_duration_ms
  RETURNING thread_id;

-- threads.query:threadsDelete
DELETE FROM threads WHERE project_id = $1 AND thread_id IN (SELECT unnest($2::text[]));

-- turn-texts.query:turnCalls
SELECT t.id AS turn_id, s.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (
  WITH RECURSIVE below AS (
  SELECT c.trace_id, 0 AS depth, c.id, (extract(epoch FROM c.started_at) * 1000000)::bigint::text AS started_at,
  (extract(epoch FROM c.ended_at) * 1000000)::bigint::text AS ended_at, c.operation,
  coalesce(pg_column_size(c.inputs) > $2::int, false) AS has_inputs,
  coalesce(pg_column_size(c.output) > $3::int, false) AS has_output FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id
  UNION ALL
  SELECT c.* FROM below b CROSS JOIN LATERAL (SELECT c.trace_id, b.depth + 1, c.id, (extract(epoch FROM c.started_at) * 1000000)::bigint::text AS started_at,
  (extract(epoch FROM c.ended_at) * 1000000)::bigint::text AS ended_at, c.operation,
  coalesce(pg_column_size(c.inputs) > $5::int, false) AS has_inputs,
  coalesce(pg_column_size(c.output) > $6::int, false) AS has_output FROM calls c
  WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = b.id AND (c.trace_id = b.trace_id) IS TRUE OFFSET 0) "c"
  WHERE b.depth < $8::int)
  SELECT b.depth, b.id, b.started_at, b.ended_at, b.operation, b.has_inputs, b.has_output FROM below b LIMIT $9::bigint OFFSET 0) "s";

-- turn-texts.query:callDocuments
SELECT c.id, CASE WHEN octet_length(c.inputs::text) <= $1::int THEN c.inputs::text END AS inputs, CASE WHEN octet_length(c.output::text) <= $2::int THEN c.output::text END AS output
  FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($4::text[]);
