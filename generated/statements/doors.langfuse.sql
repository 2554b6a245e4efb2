-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- media.entity
SELECT "Media"."project_id" AS "Media_project_id", "Media"."id" AS "Media_id", "Media"."content_type" AS "Media_content_type", "Media"."size_bytes" AS "Media_size_bytes", "Media"."sha256" AS "Media_sha256", "Media"."secret" AS "Media_secret", "Media"."digest" AS "Media_digest", "Media"."uploaded_at" AS "Media_uploaded_at" FROM "media" "Media" WHERE (("Media"."project_id" = $1) AND ("Media"."id" = $2)) LIMIT 1;

-- media.query:announceMediaQuery
INSERT INTO media AS m (project_id, id, content_type, size_bytes, sha256, secret)
  VALUES ($1, $2, $3, $4::int, $5, $6::bytea)
  ON CONFLICT (project_id, id) DO UPDATE SET
  content_type = CASE WHEN m.digest IS NULL THEN excluded.content_type ELSE m.content_type END,
  size_bytes = CASE WHEN m.digest IS NULL THEN excluded.size_bytes ELSE m.size_bytes END,
  sha256 = CASE WHEN m.digest IS NULL THEN excluded.sha256 ELSE m.sha256 END
  RETURNING m.size_bytes, m.sha256, m.secret, m.digest IS NOT NULL AS is_here;

-- media.query:keepMediaQuery
UPDATE media SET digest = $1, uploaded_at = now()
  WHERE project_id = $2 AND id = $3 AND sha256 = $4 AND digest IS NULL;

-- root-times.query:traceRootsQuery
SELECT c.id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at,
  c.event_times::text AS event_times
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($2::text[])
  AND c.trace_id = c.id AND c.parent_id IS NULL;

-- root-times.query:traceTimesQuery
SELECT c.trace_id, to_char(min(c.started_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS first,
  to_char(max(greatest(c.started_at, c.ended_at)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS last
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id <> c.trace_id
  AND c.trace_id = ANY($2::text[])
  GROUP BY c.trace_id;
