-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- retention-clock.entity
UPDATE "retention_clock" SET "seen_at" = $1, "ahead_ms" = $2, "waits_until" = $3 WHERE "is_only" = $4;

-- retention-policy.entity
INSERT INTO "retention_policies" AS "RetentionPolicy"("project_id", "calls_days", "payload_days", "feedback_days", "is_default", "payload_cursor", "walk_started_at") VALUES ($1, $2, $3, $4, $5, DEFAULT, DEFAULT) ON CONFLICT ( "project_id" ) DO UPDATE SET "calls_days" = EXCLUDED."calls_days", "payload_days" = EXCLUDED."payload_days", "feedback_days" = EXCLUDED."feedback_days", "is_default" = EXCLUDED."is_default", "payload_cursor" = EXCLUDED."payload_cursor", "walk_started_at" = EXCLUDED."walk_started_at" RETURNING "is_default", "walk_started_at";

SELECT "RetentionPolicy"."project_id" AS "RetentionPolicy_project_id", "RetentionPolicy"."calls_days" AS "RetentionPolicy_calls_days", "RetentionPolicy"."payload_days" AS "RetentionPolicy_payload_days", "RetentionPolicy"."feedback_days" AS "RetentionPolicy_feedback_days", "RetentionPolicy"."is_default" AS "RetentionPolicy_is_default", "RetentionPolicy"."payload_cursor" AS "RetentionPolicy_payload_cursor", "RetentionPolicy"."walk_started_at" AS "RetentionPolicy_walk_started_at" FROM "retention_policies" "RetentionPolicy" WHERE (("RetentionPolicy"."project_id" = $1)) LIMIT 1;

-- retention.query:duePolicies
SELECT project_id, (now() - make_interval(days => calls_days))::text AS calls_before,
  (now() - make_interval(days => payload_days))::text AS payloads_before,
  (now() - make_interval(days => feedback_days))::text AS feedback_before, payload_cursor
  FROM retention_policies WHERE coalesce(calls_days, payload_days, feedback_days) IS NOT NULL ORDER BY project_id;

-- retention.query:defaultsDelete
DELETE FROM retention_policies WHERE is_default;

-- retention.query:walksRestart
UPDATE retention_policies SET payload_cursor = NULL, walk_started_at = now()
  WHERE payload_days IS NOT NULL AND walk_started_at < now() - interval '1 day';

-- retention.query:clockLook
INSERT INTO retention_clock (seen_at) VALUES (clock_timestamp()) ON CONFLICT (is_only) DO UPDATE SET is_only = true
  RETURNING extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms, extract(epoch FROM seen_at)::float8 * 1000 AS seen_ms,
  ahead_ms, extract(epoch FROM waits_until)::float8 * 1000 AS waits_until_ms;
