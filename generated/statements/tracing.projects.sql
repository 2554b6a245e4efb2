-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- projects.query:projectsQuery
SELECT row_to_json(w)::text AS json FROM (
  SELECT t.project_id AS "project_id", t.call_count AS "call_count", t.bytes AS "bytes", to_char(t.last_activity AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_activity" FROM (
  SELECT s.project_id, sum(s.call_count)::bigint AS call_count, sum(s.bytes)::bigint AS bytes,
  max(s.last_activity) AS last_activity
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE (p.project_id = ANY($1::text[]))
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE (m.project_id = ANY($2::text[]))
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, m.bytes, m.made_at FROM call_slot_marks m WHERE (m.project_id = ANY($3::text[]))) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
  ORDER BY t.last_activity DESC, t.project_id COLLATE "C" ASC NULLS LAST
  LIMIT $4::bigint OFFSET $5::bigint) w;

SELECT row_to_json(w)::text AS json FROM (
  SELECT t.project_id AS "project_id", t.call_count AS "call_count", t.bytes AS "bytes", to_char(t.last_activity AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_activity" FROM (
  SELECT s.project_id, sum(s.call_count)::bigint AS call_count, sum(s.bytes)::bigint AS bytes,
  max(s.last_activity) AS last_activity
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE TRUE
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE TRUE
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, m.bytes, m.made_at FROM call_slot_marks m WHERE TRUE) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
  ORDER BY t.last_activity DESC, t.project_id COLLATE "C" ASC NULLS LAST
  LIMIT $1::bigint OFFSET $2::bigint) w;

-- projects.query:callCountQuery
SELECT coalesce(sum(s.call_count), 0)::bigint AS count
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE p.project_id = $1
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE m.project_id = $2
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, m.bytes, m.made_at FROM call_slot_marks m WHERE m.project_id = $3) s;

-- projects.query:projectBytes
SELECT s.project_id AS scope, sum(s.bytes)::float8 AS bytes
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE p.project_id = ANY($1::text[])
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE m.project_id = ANY($2::text[])
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, m.bytes, m.made_at FROM call_slot_marks m WHERE m.project_id = ANY($3::text[])) s
  GROUP BY s.project_id HAVING sum(s.row_count) > 0;

-- projects.query:entityBytes
SELECT split_part(s.project_id, '/', 1) || '/*' AS scope, sum(s.bytes)::float8 AS bytes
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE (p.project_id = ANY($1::text[]) OR (p.project_id > $2 AND p.project_id < $3))
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE (m.project_id = ANY($4::text[]) OR (m.project_id > $5 AND m.project_id < $6))
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, m.bytes, m.made_at FROM call_slot_marks m WHERE (m.project_id = ANY($7::text[]) OR (m.project_id > $8 AND m.project_id < $9))) s GROUP BY 1;

-- projects.query:marksTake
WITH taken AS (
  DELETE FROM project_marks WHERE project_id = $1 AND id IN (
  SELECT id FROM project_marks WHERE project_id = $2 ORDER BY id LIMIT $3::bigint)
  RETURNING row_count, call_count, bytes, written_bytes, made_at)
  SELECT count(*)::int AS taken, sum(row_count)::text AS row_count, sum(call_count)::text AS call_count,
  sum(bytes)::text AS bytes, sum(written_bytes)::text AS written_bytes, max(made_at)::text AS made_at FROM taken;

-- projects.query:projectAdd
INSERT INTO projects AS p (project_id, row_count, call_count, bytes, last_activity)
  VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::timestamptz)
  ON CONFLICT (project_id) DO UPDATE SET row_count = p.row_count + excluded.row_count,
  call_count = p.call_count + excluded.call_count, bytes = p.bytes + excluded.bytes,
  last_activity = greatest(p.last_activity, excluded.last_activity);

-- projects.query:emptyDelete
DELETE FROM projects WHERE project_id = $1 AND row_count = 0 AND bytes = 0;

-- projects.query:markInsert
INSERT INTO project_marks (project_id, row_count, call_count, bytes, made_at)
  VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::timestamptz);

-- projects.query:sizesQuery
SELECT row_to_json(s)::text AS json FROM (SELECT
  (SELECT coalesce(sum(t.bytes), 0)::bigint FROM call_slots t WHERE t.project_id = $1) AS trace_storage_size_bytes,
  (SELECT coalesce(sum(t.size_bytes), 0)::bigint FROM object_versions t WHERE t.project_id = $2) AS objects_storage_size_bytes,
  (SELECT coalesce(sum(pg_column_size(t.row_digests)), 0)::bigint FROM tables t WHERE t.project_id = $3) + (SELECT coalesce(sum(pg_column_size(t.val)), 0)::bigint FROM table_rows t WHERE t.project_id = $4) AS tables_storage_size_bytes,
  (SELECT coalesce(sum(t.size_bytes), 0)::bigint FROM files t WHERE t.project_id = $5) AS files_storage_size_bytes) s;

-- quotas.query:usesAdd
INSERT INTO project_uses AS u (day, entity, project, "requests", "refused_requests", "received_bytes", "written_bytes", "calls", "slot_ms")
  SELECT $1::date, r.entity, r.project, r."requests", r."refused_requests", r."received_bytes", r."written_bytes", r."calls", r."slot_ms"
  FROM json_to_recordset($2::json)
  AS r (entity text, project text, "requests" bigint, "refused_requests" bigint, "received_bytes" bigint, "written_bytes" bigint, "calls" bigint, "slot_ms" bigint)
  ORDER BY r.entity COLLATE "C", r.project COLLATE "C"
  ON CONFLICT (day, entity, project) DO UPDATE SET
  "requests" = u."requests" + excluded."requests", "refused_requests" = u."refused_requests" + excluded."refused_requests", "received_bytes" = u."received_bytes" + excluded."received_bytes", "written_bytes" = u."written_bytes" + excluded."written_bytes", "calls" = u."calls" + excluded."calls", "slot_ms" = u."slot_ms" + excluded."slot_ms"
  RETURNING u.entity, u.project, u."requests"::float8 AS "requests", u."refused_requests"::float8 AS "refused_requests", u."received_bytes"::float8 AS "received_bytes", u."written_bytes"::float8 AS "written_bytes", u."calls"::float8 AS "calls", u."slot_ms"::float8 AS "slot_ms";

-- quotas.query:quotaSet
INSERT INTO quotas (entity, project, "stored_bytes", "written_bytes_per_day", "calls_per_day", "requests_per_minute")
  VALUES ($1, $2, $3::bigint, $4::bigint, $5::bigint, $6::bigint)
  ON CONFLICT (entity, project) DO UPDATE SET "stored_bytes" = excluded."stored_bytes", "written_bytes_per_day" = excluded."written_bytes_per_day", "calls_per_day" = excluded."calls_per_day", "requests_per_minute" = excluded."requests_per_minute";

-- quotas.query:otherQuotasCount
SELECT count(*)::int AS others FROM quotas q
  WHERE q.entity = $1 AND q.project NOT IN ($2, $3);

-- quotas.query:quotasOf
SELECT q.entity, q.project, q."stored_bytes"::float8 AS "stored_bytes", q."written_bytes_per_day"::float8 AS "written_bytes_per_day", q."calls_per_day"::float8 AS "calls_per_day", q."requests_per_minute"::float8 AS "requests_per_minute" FROM quotas q
  WHERE q.entity = ANY($1::text[]);

-- quotas.query:usesList
SELECT t.scope AS "scope", t."requests" AS "requests", t."refused_requests" AS "refused_requests", t."received_bytes" AS "received_bytes", t."written_bytes" AS "written_bytes", t."calls" AS "calls", t."slot_ms" AS "slot_ms", t."limit_stored_bytes" AS "limit_stored_bytes", t."limit_written_bytes_per_day" AS "limit_written_bytes_per_day", t."limit_calls_per_day" AS "limit_calls_per_day", t."limit_requests_per_minute" AS "limit_requests_per_minute" FROM (
  SELECT u.entity || '/' || u.project AS scope,
  coalesce(d."requests", 0)::float8 AS "requests", coalesce(d."refused_requests", 0)::float8 AS "refused_requests", coalesce(d."received_bytes", 0)::float8 AS "received_bytes", coalesce(d."written_bytes", 0)::float8 AS "written_bytes", coalesce(d."calls", 0)::float8 AS "calls", coalesce(d."slot_ms", 0)::float8 AS "slot_ms",
  q."stored_bytes"::float8 AS "limit_stored_bytes", q."written_bytes_per_day"::float8 AS "limit_written_bytes_per_day", q."calls_per_day"::float8 AS "limit_calls_per_day", q."requests_per_minute"::float8 AS "limit_requests_per_minute"
  FROM (SELECT d.entity, d.project FROM project_uses d WHERE d.day = $1::date
  UNION SELECT q.entity, q.project FROM quotas q) u
  LEFT JOIN project_uses d ON d.day = $2::date AND d.entity = u.entity AND d.project = u.project
  LEFT JOIN quotas q ON q.entity = u.entity AND q.project = u.project
  WHERE (u.entity = $3 AND u.project = $4)) t
  ORDER BY t."requests" DESC, t.scope COLLATE "C" ASC NULLS LAST LIMIT $5::bigint;

SELECT t.scope AS "scope", t."requests" AS "requests", t."refused_requests" AS "refused_requests", t."received_bytes" AS "received_bytes", t."written_bytes" AS "written_bytes", t."calls" AS "calls", t."slot_ms" AS "slot_ms", t."limit_stored_bytes" AS "limit_stored_bytes", t."limit_written_bytes_per_day" AS "limit_written_bytes_per_day", t."limit_calls_per_day" AS "limit_calls_per_day", t."limit_requests_per_minute" AS "limit_requests_per_minute" FROM (
  SELECT u.entity || '/' || u.project AS scope,
  coalesce(d."requests", 0)::float8 AS "requests", coalesce(d."refused_requests", 0)::float8 AS "refused_requests", coalesce(d."received_bytes", 0)::float8 AS "received_bytes", coalesce(d."written_bytes", 0)::float8 AS "written_bytes", coalesce(d."calls", 0)::float8 AS "calls", coalesce(d."slot_ms", 0)::float8 AS "slot_ms",
  q."stored_bytes"::float8 AS "limit_stored_bytes", q."written_bytes_per_day"::float8 AS "limit_written_bytes_per_day", q."calls_per_day"::float8 AS "limit_calls_per_day", q."requests_per_minute"::float8 AS "limit_requests_per_minute"
  FROM (SELECT d.entity, d.project FROM project_uses d WHERE d.day = $1::date
  UNION SELECT q.entity, q.project FROM quotas q) u
  LEFT JOIN project_uses d ON d.day = $2::date AND d.entity = u.entity AND d.project = u.project
  LEFT JOIN quotas q ON q.entity = u.entity AND q.project = u.project
  WHERE TRUE) t
  ORDER BY t."requests" DESC, t.scope COLLATE "C" ASC NULLS LAST LIMIT $3::bigint;

-- quotas.query:oldUsesDelete
DELETE FROM project_uses WHERE day < $1::date - $2::int;
