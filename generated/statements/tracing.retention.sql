-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- retention-clock.entity
UPDATE "retention_clock" SET "seen_at" = $1, "ahead_ms" = $2, "waits_until" = $3 WHERE "is_only" = $4;

-- retention-policy.entity
INSERT INTO "retention_policies" AS "RetentionPolicy"("project_id", "calls_days", "payload_days", "payload_cursor", "walk_started_at") VALUES ($1, $2, $3, DEFAULT, DEFAULT) ON CONFLICT ( "project_id" ) DO UPDATE SET "calls_days" = EXCLUDED."calls_days", "payload_days" = EXCLUDED."payload_days", "payload_cursor" = EXCLUDED."payload_cursor", "walk_started_at" = EXCLUDED."walk_started_at" RETURNING "walk_started_at";

SELECT "RetentionPolicy"."project_id" AS "RetentionPolicy_project_id", "RetentionPolicy"."calls_days" AS "RetentionPolicy_calls_days", "RetentionPolicy"."payload_days" AS "RetentionPolicy_payload_days", "RetentionPolicy"."payload_cursor" AS "RetentionPolicy_payload_cursor", "RetentionPolicy"."walk_started_at" AS "RetentionPolicy_walk_started_at" FROM "retention_policies" "RetentionPolicy" WHERE (("RetentionPolicy"."project_id" = $1)) LIMIT 1;

-- retention.query:duePolicies
SELECT project_id, (now() - make_interval(days => calls_days))::text AS calls_before,
  (now() - make_interval(days => payload_days))::text AS payloads_before, payload_cursor
  FROM retention_policies WHERE calls_days IS NOT NULL OR payload_days IS NOT NULL ORDER BY project_id;

-- retention.query:walksRestart
UPDATE retention_policies SET payload_cursor = NULL, walk_started_at = now()
  WHERE payload_days IS NOT NULL AND walk_started_at < now() - interval '1 day';

-- retention.query:clockLook
INSERT INTO retention_clock (seen_at) VALUES (clock_timestamp()) ON CONFLICT (is_only) DO UPDATE SET is_only = true
  RETURNING extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms, extract(epoch FROM seen_at)::float8 * 1000 AS seen_ms,
  ahead_ms, extract(epoch FROM waits_until)::float8 * 1000 AS waits_until_ms;
