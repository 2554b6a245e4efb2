-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- datasets.query:callsById
SELECT c.id, c.trace_id, c.thread_id FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.thread_id FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id OFFSET 0) "c";

-- datasets.query:callsMatching
SELECT c.id, c.trace_id, c.thread_id FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = ANY($2::text[])
  ORDER BY c.started_at, c.id LIMIT $3::bigint;

-- datasets.query:sourcesInsert
INSERT INTO dataset_row_sources (project_id, object_id, row_digest, call_id, trace_id, thread_id, added_by)
  SELECT DISTINCT $1, $2, t.digest, t.id, t.trace_id, t.thread_id, $3
  FROM unnest($4::text[], $5::text[],
  $6::text[], $7::text[])
  AS t (digest, id, trace_id, thread_id)
  ON CONFLICT (project_id, object_id, row_digest, call_id) DO UPDATE SET removed_at = NULL, erased_at = NULL;

-- datasets.query:sourcesRemove
UPDATE dataset_row_sources s SET removed_at = now()
  WHERE s.project_id = $1 AND s.object_id = $2 AND s.removed_at IS NULL
  AND TRUE;

UPDATE dataset_row_sources s SET removed_at = now()
  WHERE s.project_id = $1 AND s.object_id = $2 AND s.removed_at IS NULL
  AND s.row_digest IN (SELECT unnest($3::text[]));

-- datasets.query:sourcesCopy
INSERT INTO dataset_row_sources (project_id, object_id, row_digest, call_id, trace_id, thread_id, added_at, added_by, erased_at)
  SELECT s.project_id, $1, s.row_digest, s.call_id, s.trace_id, s.thread_id, s.added_at, s.added_by, s.erased_at
  FROM dataset_row_sources s
  WHERE s.project_id = $2 AND s.object_id = $3 AND s.row_digest IN (SELECT unnest($4::text[]))
  ON CONFLICT (project_id, object_id, row_digest, call_id) DO UPDATE SET removed_at = NULL, erased_at = excluded.erased_at;

-- datasets.query:lineageQuery
SELECT row_to_json(o)::text FROM (
  SELECT s.object_id AS "object_id", s.row_digest AS "row_digest", s.call_id AS "call_id", s.trace_id AS "trace_id", s.thread_id AS "thread_id", to_char(s.added_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "added_at", s.added_by AS "added_by", to_char(s.removed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "removed_at", (s.erased_at IS NOT NULL) AS "erased", to_char(s.erased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "erased_at" FROM dataset_row_sources s WHERE s.project_id = $1
  ORDER BY s.object_id COLLATE "C" ASC NULLS LAST, s.row_digest COLLATE "C" ASC NULLS LAST, s.call_id COLLATE "C" ASC NULLS LAST LIMIT $2::bigint OFFSET $3::bigint) o; -- a list

-- imports.query:importRowsInsert
INSERT INTO dataset_import_rows (project_id, upload_id, digest, seq, is_opaque, val)
  SELECT $1, $2::uuid, r.digest, $3::int + r.n::int, r.is_opaque, r.val::json
  FROM unnest($4::text[], $5::boolean[],
  $6::text[]) WITH ORDINALITY AS r (digest, is_opaque, val, n)
  ON CONFLICT DO NOTHING;

-- imports.query:importedRowsInsert
INSERT INTO table_rows (project_id, digest, is_opaque, val)
  SELECT s.project_id, s.digest, s.is_opaque, s.val FROM dataset_import_rows s
  WHERE s.project_id = $1 AND s.upload_id = $2::uuid ORDER BY s.digest
  ON CONFLICT DO NOTHING;

-- imports.query:importedTableInsert
INSERT INTO tables AS stored (project_id, digest, row_digests)
  SELECT made.project_id, encode(sha256(made.row_digests), 'hex'), made.row_digests FROM (
  SELECT fresh.project_id, coalesce((SELECT t.row_digests FROM tables t WHERE t.project_id = $1 AND t.digest = $2), ''::bytea)
  || convert_to(string_agg(fresh.digest, '' ORDER BY fresh.seq), 'UTF8') AS row_digests
  FROM (
  SELECT r.project_id, r.digest, min(r.seq) AS seq FROM (
  SELECT s.project_id, s.digest, s.seq FROM dataset_import_rows s WHERE s.project_id = $3 AND s.upload_id = $4::uuid
  UNION ALL
  SELECT t.project_id, convert_from(substring(t.row_digests FROM n * $5::int + 1 FOR $6::int), 'UTF8'), NULL
  FROM tables t, generate_series(0, octet_length(t.row_digests) / $7::int - 1) n
  WHERE t.project_id = $8 AND t.digest = $9) r
  GROUP BY r.project_id, r.digest HAVING count(*) = count(r.seq)) fresh GROUP BY fresh.project_id) made
  ON CONFLICT (project_id, digest) DO UPDATE SET row_digests = stored.row_digests
  RETURNING digest, octet_length(row_digests) / $10::int AS rows;

-- imports.query:importRowsDelete
DELETE FROM dataset_import_rows s WHERE s.project_id = $1 AND s.upload_id = $2::uuid;
