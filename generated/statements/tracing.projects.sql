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
  SELECT m.project_id, m.call_count, m.call_count, 0, m.made_at FROM call_slot_marks m WHERE (m.project_id = ANY($3::text[]))) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
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
  SELECT m.project_id, m.call_count, m.call_count, 0, m.made_at FROM call_slot_marks m WHERE TRUE) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
  ORDER BY t.last_activity DESC, t.project_id COLLATE "C" ASC NULLS LAST
  LIMIT $1::bigint OFFSET $2::bigint) w;

-- projects.query:callCountQuery
SELECT coalesce(sum(s.call_count), 0)::bigint AS count
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE p.project_id = $1
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE m.project_id = $2
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, 0, m.made_at FROM call_slot_marks m WHERE m.project_id = $3) s;

-- projects.query:marksTake
WITH taken AS (
  DELETE FROM project_marks WHERE project_id = $1 AND id IN (
  SELECT id FROM project_marks WHERE project_id = $2 ORDER BY id LIMIT $3::bigint)
  RETURNING row_count, call_count, bytes, made_at)
  SELECT count(*)::int AS taken, sum(row_count)::text AS row_count, sum(call_count)::text AS call_count,
  sum(bytes)::text AS bytes, max(made_at)::text AS made_at FROM taken;

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
