-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- erasing.entity
INSERT INTO "erasings"("project_id", "id", "kind", "request", "targets", "cursor", "counts", "key_id", "user_name", "created_at", "touched_at", "ended_at") VALUES ($1, $2, $3, $4, $5, DEFAULT, DEFAULT, $6, $7, DEFAULT, DEFAULT, DEFAULT) RETURNING "counts", "created_at", "touched_at";

SELECT "Erasing"."counts" AS "Erasing_counts", "Erasing"."ended_at" AS "Erasing_ended_at", "Erasing"."project_id" AS "Erasing_project_id", "Erasing"."id" AS "Erasing_id" FROM "erasings" "Erasing" WHERE (("Erasing"."project_id" = $1) AND ("Erasing"."id" = $2)) LIMIT 1;

UPDATE "erasings" SET "cursor" = $1, "counts" = $2, "touched_at" = statement_timestamp() WHERE ("project_id" = $3 AND "id" = $4);

UPDATE "erasings" SET "request" = $1, "targets" = $2, "cursor" = $3, "counts" = $4, "touched_at" = statement_timestamp(), "ended_at" = statement_timestamp() WHERE ("project_id" = $5 AND "id" = $6);

-- erasings.query:erasingLock
SELECT project_id, id, kind, request, targets, cursor, counts, key_id, user_name, created_at::text AS created_at
  FROM erasings WHERE project_id = $1 AND id = $2 AND ended_at IS NULL FOR UPDATE;

-- erasings.query:openErasings
SELECT count(*)::int AS count FROM erasings
  WHERE ended_at IS NULL AND split_part(project_id, '/', 1) = $1;

-- erasings.query:leftErasings
SELECT project_id, id, key_id FROM erasings WHERE ended_at IS NULL AND touched_at < now() - interval '10 seconds'
  ORDER BY row_number() OVER (PARTITION BY split_part(project_id, '/', 1) ORDER BY touched_at, id), touched_at, id LIMIT 100;

-- erasings.query:endedErasingsDelete
DELETE FROM erasings WHERE ended_at < now() - interval '24 hours';

-- project.query:lastKeyQuery
SELECT ARRAY[]::text[] AS key FROM "call_text_walks" t WHERE t.project_id = $1
  LIMIT 1;

SELECT ARRAY[]::text[] AS key FROM "orphan_walks" t WHERE t.project_id = $1
  LIMIT 1;

SELECT ARRAY[]::text[] AS key FROM "retention_policies" t WHERE t.project_id = $1
  LIMIT 1;

SELECT ARRAY[t."api_key_id"::text, t."key"::text]::text[] AS key FROM "idempotency_keys" t WHERE t.project_id = $1
  ORDER BY t."api_key_id" DESC, t."key" DESC LIMIT 1;

SELECT ARRAY[t."batch_id"::text, t."seq"::text]::text[] AS key FROM "body_chunks" t WHERE t.project_id = $1
  ORDER BY t."batch_id" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."group_index"::text, t."trajectory_index"::text]::text[] AS key FROM "build_units" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."group_index" DESC, t."trajectory_index" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."job_id"::text]::text[] AS key FROM "build_jobs" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."job_id" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."kind"::text, t."id"::text]::text[] AS key FROM "build_inputs" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."kind" DESC, t."id" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."seq"::text]::text[] AS key FROM "build_chunks" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."digest"::text]::text[] AS key FROM "files" t WHERE t.project_id = $1
  ORDER BY t."digest" DESC LIMIT 1;

SELECT ARRAY[t."digest"::text]::text[] AS key FROM "table_rows" t WHERE t.project_id = $1
  ORDER BY t."digest" DESC LIMIT 1;

SELECT ARRAY[t."digest"::text]::text[] AS key FROM "tables" t WHERE t.project_id = $1
  ORDER BY t."digest" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "annotation_queue_items" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "annotation_queues" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "builds" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "calls" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "costs" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "feedback" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "folded_spans" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "media" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "models" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "training_data" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "training_jobs" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "trajectories" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "trajectory_batches" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."item_id"::text, t."user_id"::text]::text[] AS key FROM "annotation_progress" t WHERE t.project_id = $1
  ORDER BY t."item_id" DESC, t."user_id" DESC LIMIT 1;

SELECT ARRAY[t."job_id"::text, t."file"::text, t."part"::text]::text[] AS key FROM "checkpoint_parts" t WHERE t.project_id = $1
  ORDER BY t."job_id" DESC, t."file" DESC, t."part" DESC LIMIT 1;

SELECT ARRAY[t."job_id"::text, t."seq"::text]::text[] AS key FROM "training_job_events" t WHERE t.project_id = $1
  ORDER BY t."job_id" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."alias"::text, t."seq"::text]::text[] AS key FROM "model_alias_moves" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."alias" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."alias"::text]::text[] AS key FROM "model_aliases" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."alias" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."step"::text, t."provider"::text]::text[] AS key FROM "served_checkpoints" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."step" DESC, t."provider" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."step"::text]::text[] AS key FROM "checkpoints" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."step" DESC LIMIT 1;

SELECT ARRAY[t."name"::text]::text[] AS key FROM "call_indexes" t WHERE t.project_id = $1
  ORDER BY t."name" DESC LIMIT 1;

SELECT ARRAY[t."name"::text]::text[] AS key FROM "export_schedules" t WHERE t.project_id = $1
  ORDER BY t."name" DESC LIMIT 1;

SELECT ARRAY[t."name"::text]::text[] AS key FROM "legal_holds" t WHERE t.project_id = $1
  ORDER BY t."name" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."alias"::text]::text[] AS key FROM "object_aliases" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."alias" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."row_digest"::text, t."call_id"::text]::text[] AS key FROM "dataset_row_sources" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."row_digest" DESC, t."call_id" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."version_index"::text, t."tag"::text]::text[] AS key FROM "object_tags" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."version_index" DESC, t."tag" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."version_index"::text]::text[] AS key FROM "object_versions" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."version_index" DESC LIMIT 1;

SELECT ARRAY[t."process_id"::text]::text[] AS key FROM "gateway_processes" t WHERE t.project_id = $1
  ORDER BY t."process_id" DESC LIMIT 1;

SELECT ARRAY[t."upload_id"::text, t."chunk_index"::text]::text[] AS key FROM "file_chunks" t WHERE t.project_id = $1
  ORDER BY t."upload_id" DESC, t."chunk_index" DESC LIMIT 1;

SELECT ARRAY[t."upload_id"::text, t."digest"::text]::text[] AS key FROM "dataset_import_rows" t WHERE t.project_id = $1
  ORDER BY t."upload_id" DESC, t."digest" DESC LIMIT 1;

SELECT ARRAY[t."upload_id"::text, t."seq"::text]::text[] AS key FROM "checkpoint_chunks" t WHERE t.project_id = $1
  ORDER BY t."upload_id" DESC, t."seq" DESC LIMIT 1;

-- project.query:rowsDelete
WITH gone AS (DELETE FROM "retention_policies" t WHERE t.project_id = $1 RETURNING 1)
  SELECT count(*)::int AS rows, NULL::text[] AS last FROM gone;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."batch_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "body_chunks" t
  WHERE t.project_id = $1 AND (t."batch_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."batch_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."batch_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "body_chunks" t USING doomed d WHERE t.project_id = $8 AND t."batch_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."batch_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "body_chunks" t
  WHERE t.project_id = $1 AND (t."batch_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."batch_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "body_chunks" t USING doomed d WHERE t.project_id = $6 AND t."batch_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."group_index"::text, t."trajectory_index"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_units" t
  WHERE t.project_id = $1 AND (t."build_id", t."group_index", t."trajectory_index") <= ($2::"uuid", $3::"int4", $4::"int4")
  AND (t."build_id", t."group_index", t."trajectory_index") > ($5::"uuid", $6::"int4", $7::"int4")
  ORDER BY t."build_id", t."group_index", t."trajectory_index" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "build_units" t USING doomed d WHERE t.project_id = $10 AND t."build_id" = d.erased_key[$11::int]::"uuid" AND t."group_index" = d.erased_key[$12::int]::"int4" AND t."trajectory_index" = d.erased_key[$13::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."group_index"::text, t."trajectory_index"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_units" t
  WHERE t.project_id = $1 AND (t."build_id", t."group_index", t."trajectory_index") <= ($2::"uuid", $3::"int4", $4::"int4")
  ORDER BY t."build_id", t."group_index", t."trajectory_index" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "build_units" t USING doomed d WHERE t.project_id = $7 AND t."build_id" = d.erased_key[$8::int]::"uuid" AND t."group_index" = d.erased_key[$9::int]::"int4" AND t."trajectory_index" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."job_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_jobs" t
  WHERE t.project_id = $1 AND (t."build_id", t."job_id") <= ($2::"uuid", $3::"uuid")
  AND (t."build_id", t."job_id") > ($4::"uuid", $5::"uuid")
  ORDER BY t."build_id", t."job_id" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "build_jobs" t USING doomed d WHERE t.project_id = $8 AND t."build_id" = d.erased_key[$9::int]::"uuid" AND t."job_id" = d.erased_key[$10::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."job_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_jobs" t
  WHERE t.project_id = $1 AND (t."build_id", t."job_id") <= ($2::"uuid", $3::"uuid")
  ORDER BY t."build_id", t."job_id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "build_jobs" t USING doomed d WHERE t.project_id = $6 AND t."build_id" = d.erased_key[$7::int]::"uuid" AND t."job_id" = d.erased_key[$8::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."kind"::text, t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_inputs" t
  WHERE t.project_id = $1 AND (t."build_id", t."kind", t."id") <= ($2::"uuid", $3::"text", $4::"text")
  AND (t."build_id", t."kind", t."id") > ($5::"uuid", $6::"text", $7::"text")
  ORDER BY t."build_id", t."kind", t."id" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "build_inputs" t USING doomed d WHERE t.project_id = $10 AND t."build_id" = d.erased_key[$11::int]::"uuid" AND t."kind" = d.erased_key[$12::int]::"text" AND t."id" = d.erased_key[$13::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."kind"::text, t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_inputs" t
  WHERE t.project_id = $1 AND (t."build_id", t."kind", t."id") <= ($2::"uuid", $3::"text", $4::"text")
  ORDER BY t."build_id", t."kind", t."id" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "build_inputs" t USING doomed d WHERE t.project_id = $7 AND t."build_id" = d.erased_key[$8::int]::"uuid" AND t."kind" = d.erased_key[$9::int]::"text" AND t."id" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "build_chunks" t
  WHERE t.project_id = $1 AND (t."build_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."build_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."build_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "build_chunks" t USING doomed d WHERE t.project_id = $8 AND t."build_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "build_chunks" t
  WHERE t.project_id = $1 AND (t."build_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."build_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "build_chunks" t USING doomed d WHERE t.project_id = $6 AND t."build_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "files" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  AND (t."digest") > ($3::"text")
  ORDER BY t."digest" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "files" t USING doomed d WHERE t.project_id = $6 AND t."digest" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "files" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  ORDER BY t."digest" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "files" t USING doomed d WHERE t.project_id = $5 AND t."digest" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."row_digests"), 0) AS erased_bytes
  FROM "tables" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  AND (t."digest") > ($3::"text")
  ORDER BY t."digest" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "tables" t USING doomed d WHERE t.project_id = $6 AND t."digest" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."row_digests"), 0) AS erased_bytes
  FROM "tables" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  ORDER BY t."digest" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "tables" t USING doomed d WHERE t.project_id = $5 AND t."digest" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "table_rows" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  AND (t."digest") > ($3::"text")
  ORDER BY t."digest" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "table_rows" t USING doomed d WHERE t.project_id = $6 AND t."digest" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "table_rows" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  ORDER BY t."digest" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "table_rows" t USING doomed d WHERE t.project_id = $5 AND t."digest" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "costs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "costs" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "costs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "costs" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "models" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "models" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "models" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "models" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "training_data" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "training_data" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "training_data" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "training_data" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."attributes"), 0) + coalesce(pg_column_size(t."inputs"), 0) + coalesce(pg_column_size(t."output"), 0) + coalesce(pg_column_size(t."summary"), 0) + coalesce(pg_column_size(t."otel_dump"), 0) + coalesce(pg_column_size(t."logged"), 0) + coalesce(pg_column_size(t."own_inputs"), 0) + coalesce(pg_column_size(t."own_output"), 0) + coalesce(pg_column_size(t."usage"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "calls" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "calls" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."attributes"), 0) + coalesce(pg_column_size(t."inputs"), 0) + coalesce(pg_column_size(t."output"), 0) + coalesce(pg_column_size(t."summary"), 0) + coalesce(pg_column_size(t."otel_dump"), 0) + coalesce(pg_column_size(t."logged"), 0) + coalesce(pg_column_size(t."own_inputs"), 0) + coalesce(pg_column_size(t."own_output"), 0) + coalesce(pg_column_size(t."usage"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "calls" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "calls" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."body_sha256"), 0) + coalesce(pg_column_size(t."payload_sha256"), 0) AS erased_bytes
  FROM "trajectory_batches" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "trajectory_batches" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."body_sha256"), 0) + coalesce(pg_column_size(t."payload_sha256"), 0) AS erased_bytes
  FROM "trajectory_batches" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "trajectory_batches" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."display_fields"), 0) AS erased_bytes
  FROM "annotation_queue_items" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "annotation_queue_items" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."display_fields"), 0) AS erased_bytes
  FROM "annotation_queue_items" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "annotation_queue_items" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."document"), 0) AS erased_bytes
  FROM "trajectories" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "trajectories" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."document"), 0) AS erased_bytes
  FROM "trajectories" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "trajectories" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."lease_token_hash"), 0) + coalesce(pg_column_size(t."state"), 0) + coalesce(pg_column_size(t."experimental_config"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "training_jobs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "training_jobs" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."lease_token_hash"), 0) + coalesce(pg_column_size(t."state"), 0) + coalesce(pg_column_size(t."experimental_config"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "training_jobs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "training_jobs" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."recipe"), 0) + coalesce(pg_column_size(t."counts"), 0) + coalesce(pg_column_size(t."lints"), 0) + coalesce(pg_column_size(t."facts"), 0) AS erased_bytes
  FROM "builds" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "builds" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."recipe"), 0) + coalesce(pg_column_size(t."counts"), 0) + coalesce(pg_column_size(t."lints"), 0) + coalesce(pg_column_size(t."facts"), 0) AS erased_bytes
  FROM "builds" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "builds" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_refs"), 0) AS erased_bytes
  FROM "annotation_queues" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "annotation_queues" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_refs"), 0) AS erased_bytes
  FROM "annotation_queues" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "annotation_queues" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_tags"), 0) + coalesce(pg_column_size(t."scorer_tag_reasons"), 0) + coalesce(pg_column_size(t."scorer_tag_confidences"), 0) + coalesce(pg_column_size(t."scorer_ratings"), 0) + coalesce(pg_column_size(t."scorer_rating_reasons"), 0) + coalesce(pg_column_size(t."scorer_rating_confidences"), 0) + coalesce(pg_column_size(t."payload"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "feedback" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "feedback" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_tags"), 0) + coalesce(pg_column_size(t."scorer_tag_reasons"), 0) + coalesce(pg_column_size(t."scorer_tag_confidences"), 0) + coalesce(pg_column_size(t."scorer_ratings"), 0) + coalesce(pg_column_size(t."scorer_rating_reasons"), 0) + coalesce(pg_column_size(t."scorer_rating_confidences"), 0) + coalesce(pg_column_size(t."payload"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "feedback" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "feedback" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."secret"), 0) AS erased_bytes
  FROM "media" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "media" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."secret"), 0) AS erased_bytes
  FROM "media" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "media" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."item_id"::text, t."user_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "annotation_progress" t
  WHERE t.project_id = $1 AND (t."item_id", t."user_id") <= ($2::"text", $3::"text")
  AND (t."item_id", t."user_id") > ($4::"text", $5::"text")
  ORDER BY t."item_id", t."user_id" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "annotation_progress" t USING doomed d WHERE t.project_id = $8 AND t."item_id" = d.erased_key[$9::int]::"text" AND t."user_id" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."item_id"::text, t."user_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "annotation_progress" t
  WHERE t.project_id = $1 AND (t."item_id", t."user_id") <= ($2::"text", $3::"text")
  ORDER BY t."item_id", t."user_id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "annotation_progress" t USING doomed d WHERE t.project_id = $6 AND t."item_id" = d.erased_key[$7::int]::"text" AND t."user_id" = d.erased_key[$8::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."file"::text, t."part"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "checkpoint_parts" t
  WHERE t.project_id = $1 AND (t."job_id", t."file", t."part") <= ($2::"uuid", $3::"text", $4::"int4")
  AND (t."job_id", t."file", t."part") > ($5::"uuid", $6::"text", $7::"int4")
  ORDER BY t."job_id", t."file", t."part" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "checkpoint_parts" t USING doomed d WHERE t.project_id = $10 AND t."job_id" = d.erased_key[$11::int]::"uuid" AND t."file" = d.erased_key[$12::int]::"text" AND t."part" = d.erased_key[$13::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."file"::text, t."part"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "checkpoint_parts" t
  WHERE t.project_id = $1 AND (t."job_id", t."file", t."part") <= ($2::"uuid", $3::"text", $4::"int4")
  ORDER BY t."job_id", t."file", t."part" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "checkpoint_parts" t USING doomed d WHERE t.project_id = $7 AND t."job_id" = d.erased_key[$8::int]::"uuid" AND t."file" = d.erased_key[$9::int]::"text" AND t."part" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."data"), 0) AS erased_bytes
  FROM "training_job_events" t
  WHERE t.project_id = $1 AND (t."job_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."job_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."job_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "training_job_events" t USING doomed d WHERE t.project_id = $8 AND t."job_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."data"), 0) AS erased_bytes
  FROM "training_job_events" t
  WHERE t.project_id = $1 AND (t."job_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."job_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "training_job_events" t USING doomed d WHERE t.project_id = $6 AND t."job_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."gate"), 0) AS erased_bytes
  FROM "model_alias_moves" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias", t."seq") <= ($2::"uuid", $3::"text", $4::"int4")
  AND (t."model_id", t."alias", t."seq") > ($5::"uuid", $6::"text", $7::"int4")
  ORDER BY t."model_id", t."alias", t."seq" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "model_alias_moves" t USING doomed d WHERE t.project_id = $10 AND t."model_id" = d.erased_key[$11::int]::"uuid" AND t."alias" = d.erased_key[$12::int]::"text" AND t."seq" = d.erased_key[$13::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."gate"), 0) AS erased_bytes
  FROM "model_alias_moves" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias", t."seq") <= ($2::"uuid", $3::"text", $4::"int4")
  ORDER BY t."model_id", t."alias", t."seq" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "model_alias_moves" t USING doomed d WHERE t.project_id = $7 AND t."model_id" = d.erased_key[$8::int]::"uuid" AND t."alias" = d.erased_key[$9::int]::"text" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "model_aliases" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias") <= ($2::"uuid", $3::"text")
  AND (t."model_id", t."alias") > ($4::"uuid", $5::"text")
  ORDER BY t."model_id", t."alias" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "model_aliases" t USING doomed d WHERE t.project_id = $8 AND t."model_id" = d.erased_key[$9::int]::"uuid" AND t."alias" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "model_aliases" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias") <= ($2::"uuid", $3::"text")
  ORDER BY t."model_id", t."alias" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "model_aliases" t USING doomed d WHERE t.project_id = $6 AND t."model_id" = d.erased_key[$7::int]::"uuid" AND t."alias" = d.erased_key[$8::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."step"::text]::text[] AS erased_key, coalesce(pg_column_size(t."metrics"), 0) + coalesce(pg_column_size(t."files"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "checkpoints" t
  WHERE t.project_id = $1 AND (t."model_id", t."step") <= ($2::"uuid", $3::"int4")
  AND (t."model_id", t."step") > ($4::"uuid", $5::"int4")
  ORDER BY t."model_id", t."step" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "checkpoints" t USING doomed d WHERE t.project_id = $8 AND t."model_id" = d.erased_key[$9::int]::"uuid" AND t."step" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."step"::text]::text[] AS erased_key, coalesce(pg_column_size(t."metrics"), 0) + coalesce(pg_column_size(t."files"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "checkpoints" t
  WHERE t.project_id = $1 AND (t."model_id", t."step") <= ($2::"uuid", $3::"int4")
  ORDER BY t."model_id", t."step" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "checkpoints" t USING doomed d WHERE t.project_id = $6 AND t."model_id" = d.erased_key[$7::int]::"uuid" AND t."step" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."name"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "call_indexes" t
  WHERE t.project_id = $1 AND (t."name") <= ($2::"text")
  AND (t."name") > ($3::"text")
  ORDER BY t."name" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "call_indexes" t USING doomed d WHERE t.project_id = $6 AND t."name" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."name"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "call_indexes" t
  WHERE t.project_id = $1 AND (t."name") <= ($2::"text")
  ORDER BY t."name" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "call_indexes" t USING doomed d WHERE t.project_id = $5 AND t."name" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."name"::text]::text[] AS erased_key, coalesce(pg_column_size(t."request"), 0) AS erased_bytes
  FROM "export_schedules" t
  WHERE t.project_id = $1 AND (t."name") <= ($2::"text")
  AND (t."name") > ($3::"text")
  ORDER BY t."name" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "export_schedules" t USING doomed d WHERE t.project_id = $6 AND t."name" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."name"::text]::text[] AS erased_key, coalesce(pg_column_size(t."request"), 0) AS erased_bytes
  FROM "export_schedules" t
  WHERE t.project_id = $1 AND (t."name") <= ($2::"text")
  ORDER BY t."name" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "export_schedules" t USING doomed d WHERE t.project_id = $5 AND t."name" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_aliases" t
  WHERE t.project_id = $1 AND (t."object_id", t."alias") <= ($2::"text", $3::"text")
  AND (t."object_id", t."alias") > ($4::"text", $5::"text")
  ORDER BY t."object_id", t."alias" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "object_aliases" t USING doomed d WHERE t.project_id = $8 AND t."object_id" = d.erased_key[$9::int]::"text" AND t."alias" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_aliases" t
  WHERE t.project_id = $1 AND (t."object_id", t."alias") <= ($2::"text", $3::"text")
  ORDER BY t."object_id", t."alias" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "object_aliases" t USING doomed d WHERE t.project_id = $6 AND t."object_id" = d.erased_key[$7::int]::"text" AND t."alias" = d.erased_key[$8::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."row_digest"::text, t."call_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "dataset_row_sources" t
  WHERE t.project_id = $1 AND (t."object_id", t."row_digest", t."call_id") <= ($2::"text", $3::"text", $4::"text")
  AND (t."object_id", t."row_digest", t."call_id") > ($5::"text", $6::"text", $7::"text")
  ORDER BY t."object_id", t."row_digest", t."call_id" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "dataset_row_sources" t USING doomed d WHERE t.project_id = $10 AND t."object_id" = d.erased_key[$11::int]::"text" AND t."row_digest" = d.erased_key[$12::int]::"text" AND t."call_id" = d.erased_key[$13::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."row_digest"::text, t."call_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "dataset_row_sources" t
  WHERE t.project_id = $1 AND (t."object_id", t."row_digest", t."call_id") <= ($2::"text", $3::"text", $4::"text")
  ORDER BY t."object_id", t."row_digest", t."call_id" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "dataset_row_sources" t USING doomed d WHERE t.project_id = $7 AND t."object_id" = d.erased_key[$8::int]::"text" AND t."row_digest" = d.erased_key[$9::int]::"text" AND t."call_id" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text, t."tag"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_tags" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index", t."tag") <= ($2::"text", $3::"int4", $4::"text")
  AND (t."object_id", t."version_index", t."tag") > ($5::"text", $6::"int4", $7::"text")
  ORDER BY t."object_id", t."version_index", t."tag" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "object_tags" t USING doomed d WHERE t.project_id = $10 AND t."object_id" = d.erased_key[$11::int]::"text" AND t."version_index" = d.erased_key[$12::int]::"int4" AND t."tag" = d.erased_key[$13::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text, t."tag"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_tags" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index", t."tag") <= ($2::"text", $3::"int4", $4::"text")
  ORDER BY t."object_id", t."version_index", t."tag" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "object_tags" t USING doomed d WHERE t.project_id = $7 AND t."object_id" = d.erased_key[$8::int]::"text" AND t."version_index" = d.erased_key[$9::int]::"int4" AND t."tag" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "object_versions" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index") <= ($2::"text", $3::"int4")
  AND (t."object_id", t."version_index") > ($4::"text", $5::"int4")
  ORDER BY t."object_id", t."version_index" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "object_versions" t USING doomed d WHERE t.project_id = $8 AND t."object_id" = d.erased_key[$9::int]::"text" AND t."version_index" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "object_versions" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index") <= ($2::"text", $3::"int4")
  ORDER BY t."object_id", t."version_index" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "object_versions" t USING doomed d WHERE t.project_id = $6 AND t."object_id" = d.erased_key[$7::int]::"text" AND t."version_index" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."process_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "gateway_processes" t
  WHERE t.project_id = $1 AND (t."process_id") <= ($2::"uuid")
  AND (t."process_id") > ($3::"uuid")
  ORDER BY t."process_id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "gateway_processes" t USING doomed d WHERE t.project_id = $6 AND t."process_id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."process_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "gateway_processes" t
  WHERE t.project_id = $1 AND (t."process_id") <= ($2::"uuid")
  ORDER BY t."process_id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "gateway_processes" t USING doomed d WHERE t.project_id = $5 AND t."process_id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."chunk_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "file_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."chunk_index") <= ($2::"uuid", $3::"int4")
  AND (t."upload_id", t."chunk_index") > ($4::"uuid", $5::"int4")
  ORDER BY t."upload_id", t."chunk_index" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "file_chunks" t USING doomed d WHERE t.project_id = $8 AND t."upload_id" = d.erased_key[$9::int]::"uuid" AND t."chunk_index" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."chunk_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "file_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."chunk_index") <= ($2::"uuid", $3::"int4")
  ORDER BY t."upload_id", t."chunk_index" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "file_chunks" t USING doomed d WHERE t.project_id = $6 AND t."upload_id" = d.erased_key[$7::int]::"uuid" AND t."chunk_index" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "checkpoint_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."upload_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."upload_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "checkpoint_chunks" t USING doomed d WHERE t.project_id = $8 AND t."upload_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "checkpoint_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."upload_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "checkpoint_chunks" t USING doomed d WHERE t.project_id = $6 AND t."upload_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

-- project.query:uploadsDelete
DELETE FROM uploads WHERE project_id = $1 RETURNING 1;
