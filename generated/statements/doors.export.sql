-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- export-schedule.entity
DELETE FROM "export_schedules" WHERE ("project_id" = $1 AND "name" = $2);

INSERT INTO "export_schedules" AS "ExportSchedule"("project_id", "name", "kind", "format", "every", "request", "created_at", "failures", "last_error", "retry_at") VALUES ($1, $2, $3, $4, $5, $6, DEFAULT, $7, $8, now()) ON CONFLICT ( "project_id", "name" ) DO UPDATE SET "kind" = EXCLUDED."kind", "format" = EXCLUDED."format", "every" = EXCLUDED."every", "request" = EXCLUDED."request", "failures" = EXCLUDED."failures", "last_error" = EXCLUDED."last_error", "retry_at" = EXCLUDED."retry_at" RETURNING "created_at", "failures", "retry_at";

SELECT "ExportSchedule"."project_id" AS "ExportSchedule_project_id", "ExportSchedule"."name" AS "ExportSchedule_name", "ExportSchedule"."kind" AS "ExportSchedule_kind", "ExportSchedule"."format" AS "ExportSchedule_format", "ExportSchedule"."every" AS "ExportSchedule_every", "ExportSchedule"."request" AS "ExportSchedule_request", "ExportSchedule"."created_at" AS "ExportSchedule_created_at", "ExportSchedule"."failures" AS "ExportSchedule_failures", "ExportSchedule"."last_error" AS "ExportSchedule_last_error", "ExportSchedule"."retry_at" AS "ExportSchedule_retry_at" FROM "export_schedules" "ExportSchedule" WHERE (("ExportSchedule"."project_id" = $1)) ORDER BY "ExportSchedule"."name" ASC;

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "export_schedules" "ExportSchedule" WHERE (("ExportSchedule"."project_id" = $1) AND ("ExportSchedule"."name" = $2))) LIMIT 1;

SELECT COUNT(1) AS "cnt" FROM "export_schedules" "ExportSchedule" WHERE (("ExportSchedule"."project_id" = $1));

-- export-schedules.query:databaseTime
SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at;

-- export-schedules.query:dueSchedules
SELECT s.project_id, s.name FROM export_schedules s WHERE s.retry_at <= now() ORDER BY s.project_id, s.name;

-- export-schedules.query:orphanedFolders
SELECT f.project_id, f.schedule AS name FROM exported_files f
  WHERE f.path = 'manifest.json'
  AND NOT EXISTS (SELECT FROM export_schedules s WHERE s.project_id = f.project_id AND s.name = f.schedule)
  ORDER BY f.project_id, f.schedule, f.path;

-- export-schedules.query:pendingCount
SELECT count(*)::int AS waiting, coalesce(extract(epoch FROM now() - min(w."end") FILTER (WHERE coalesce(f.print, '') = '')), 0)::float8
  AS behind_seconds FROM (SELECT to_char(w.start AT TIME ZONE 'UTC', $1) AS path, w.start, w.start + interval '1 day' AS "end",
  $2::text || w.print AS print
  FROM (
  SELECT u.start, u.slots || '/' || u.prices AS print FROM (
  SELECT e.start, e.slots, sum(e.prices) OVER (ORDER BY e.start) AS prices FROM (
  SELECT date_bin(interval '1 day', s.slot, 'epoch') AS start, 0 AS prices,
  count(*) || '.' || sum(extract(epoch FROM s.computed_at)) AS slots
  FROM call_slots s WHERE s.project_id = $3 GROUP BY 1
  UNION ALL
  SELECT date_bin(interval '1 day', p.effective_date, 'epoch'), sum(hashtext(p.id)), NULL
  FROM costs p WHERE p.project_id = $4 GROUP BY 1) e) u
  WHERE u.slots IS NOT NULL) w WHERE w.start + interval '1 day' + interval '5 minutes' <= now()) w FULL JOIN (SELECT * FROM exported_files e WHERE e.project_id = $5 AND e.schedule = $6
  AND e.path <> 'manifest.json') f
  ON f.path = w.path WHERE w.print IS DISTINCT FROM f.print;

-- export-schedules.query:fileBegin
INSERT INTO exported_files (project_id, schedule, path, window_start, window_end)
  VALUES ($1, $2, $3, $4::timestamptz, $5::timestamptz)
  ON CONFLICT (project_id, schedule, path) DO NOTHING;

-- export-schedules.query:filesTotal
SELECT count(*) FILTER (WHERE f.row_count > 0)::int AS files, coalesce(sum(f.row_count), 0)::float8 AS rows,
  coalesce(sum(f.bytes), 0)::float8 AS bytes, to_char(max(f.window_end) FILTER (WHERE f.print <> '') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS last_window_end
  FROM exported_files f WHERE f.project_id = $1 AND f.schedule = $2;

-- export-schedules.query:filesForget
UPDATE exported_files SET print = '', row_count = 0 WHERE project_id = $1 AND schedule = $2 RETURNING path;

-- export-schedules.query:folderDelete
DELETE FROM exported_files WHERE project_id = $1 AND schedule = $2
  AND NOT EXISTS (SELECT FROM export_schedules s WHERE s.project_id = $3 AND s.name = $4);
