-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- audit-event.entity
INSERT INTO "audit_events" AS "AuditEvent"("project_id", "id", "created_at", "action", "key_id", "user_name", "target", "scopes", "detail", "user_id") VALUES ($1, $2, DEFAULT, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING;

INSERT INTO "audit_events" AS "AuditEvent"("project_id", "id", "created_at", "action", "key_id", "user_name", "target", "scopes", "detail", "user_id") VALUES ($1, $2, DEFAULT, $3, $4, $5, $6, $7, $8, $9);

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "audit_events" "AuditEvent" WHERE (("AuditEvent"."project_id" = $1) AND ("AuditEvent"."action" = $2) AND ("AuditEvent"."user_name" = $3) AND ("AuditEvent"."key_id" = $4) AND ("AuditEvent"."user_id" IS NULL) AND ("AuditEvent"."target" = $5) AND (CAST("AuditEvent"."detail" AS text) = $6) AND ("AuditEvent"."created_at" > statement_timestamp() - interval '1 minute'))) LIMIT 1;

-- audit.query:eventsQuery
SELECT row_to_json(t)::text AS json FROM (
  SELECT a.id AS "id", to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", a.action AS "action", nullif(a.project_id, '') AS "project_id", a.key_id AS "key_id", a.user_id AS "user_id", a.user_name AS "user", a.target AS "target", a.detail AS "detail" FROM audit_events a
  WHERE (CASE WHEN a.project_id <> '' THEN (a.project_id = ANY($1::text[]) OR split_part(a.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ELSE a.scopes IS NOT NULL AND NOT EXISTS (SELECT FROM unnest(a.scopes) s (scope) WHERE NOT (s.scope = ANY($3::text[]) OR split_part(s.scope, '/', 1) || '/*' = ANY($4::text[]))) END)
  ORDER BY a.created_at DESC, a.id DESC
  LIMIT $5::bigint OFFSET $6::bigint) t; -- a list

SELECT row_to_json(t)::text AS json FROM (
  SELECT a.id AS "id", to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", a.action AS "action", nullif(a.project_id, '') AS "project_id", a.key_id AS "key_id", a.user_id AS "user_id", a.user_name AS "user", a.target AS "target", a.detail AS "detail" FROM audit_events a
  WHERE TRUE
  ORDER BY a.created_at DESC, a.id DESC
  LIMIT $1::bigint OFFSET $2::bigint) t; -- a list

-- legal-hold.entity
DELETE FROM "legal_holds" WHERE ("project_id" = $1 AND "name" = $2);

INSERT INTO "legal_holds"("project_id", "name", "trace_id", "thread_id", "reason", "user_name", "created_at") VALUES ($1, $2, $3, $4, $5, $6, DEFAULT) RETURNING "created_at";

SELECT "LegalHold"."project_id" AS "LegalHold_project_id", "LegalHold"."name" AS "LegalHold_name", "LegalHold"."trace_id" AS "LegalHold_trace_id", "LegalHold"."thread_id" AS "LegalHold_thread_id", "LegalHold"."reason" AS "LegalHold_reason", "LegalHold"."user_name" AS "LegalHold_user_name", "LegalHold"."created_at" AS "LegalHold_created_at" FROM "legal_holds" "LegalHold" WHERE (("LegalHold"."project_id" = $1) AND ("LegalHold"."name" = $2)) LIMIT 1;

SELECT "LegalHold"."project_id" AS "LegalHold_project_id", "LegalHold"."name" AS "LegalHold_name", "LegalHold"."trace_id" AS "LegalHold_trace_id", "LegalHold"."thread_id" AS "LegalHold_thread_id", "LegalHold"."reason" AS "LegalHold_reason", "LegalHold"."user_name" AS "LegalHold_user_name", "LegalHold"."created_at" AS "LegalHold_created_at" FROM "legal_holds" "LegalHold" WHERE (("LegalHold"."project_id" = $1)) ORDER BY "LegalHold"."name" ASC;

SELECT COUNT(1) AS "cnt" FROM "legal_holds" "LegalHold" WHERE (("LegalHold"."project_id" = $1));
