-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- idempotency.sweeper:IdempotencySweeper.sweep
DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours';

-- api-key.entity
INSERT INTO "api_keys"("id", "user_name", "role", "scopes", "secret_hash", "hint", "created_at", "expires_at", "revoked_at", "user_id", "created_by") VALUES ($1, $2, $3, $4, $5, $6, DEFAULT, $7, DEFAULT, $8, $9) RETURNING "created_at";

SELECT "ApiKey"."id" AS "ApiKey_id", "ApiKey"."user_name" AS "ApiKey_user_name", "ApiKey"."role" AS "ApiKey_role", "ApiKey"."scopes" AS "ApiKey_scopes", "ApiKey"."secret_hash" AS "ApiKey_secret_hash", "ApiKey"."hint" AS "ApiKey_hint", "ApiKey"."created_at" AS "ApiKey_created_at", "ApiKey"."expires_at" AS "ApiKey_expires_at", "ApiKey"."revoked_at" AS "ApiKey_revoked_at", "ApiKey"."user_id" AS "ApiKey_user_id", "ApiKey"."created_by" AS "ApiKey_created_by" FROM "api_keys" "ApiKey" WHERE (("ApiKey"."id" = $1)) LIMIT 1;

-- keys.query:keysBySecrets
SELECT k.id AS id, k.user_id AS "userId", k.secret_hash AS "secretHash",
  k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", CASE WHEN k.user_id IS NOT NULL THEN (
  SELECT json_build_object('id', u.id, 'issuer', u.issuer, 'subject', u.subject, 'email', u.email, 'emailVerified', u.email_verified,
  'name', u.name, 'groups', u.groups, 'isActive', u.is_active, 'memberships', (
  SELECT coalesce(json_agg(json_build_object('role', m.role, 'scope', m.scope) ORDER BY m.id), '[]')
  FROM memberships m
  WHERE (m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
  OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
  FROM users u WHERE u.id = k.user_id) END AS person,
  CASE WHEN k.id IS NOT NULL THEN json_build_object('userName', k.user_name, 'role', k.role, 'scopes', k.scopes) END AS key
  FROM api_keys k WHERE k.secret_hash = ANY ($1::bytea[]);

-- keys.query:shownKeys
SELECT row_to_json(t)::text AS json FROM (
  SELECT id, user_name AS "user", role, scopes, hint, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
  to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at, to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at, user_id, created_by
  FROM api_keys k WHERE TRUE
  ORDER BY id LIMIT $1) t; -- a list

SELECT row_to_json(t)::text AS json FROM (
  SELECT id, user_name AS "user", role, scopes, hint, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
  to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at, to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at, user_id, created_by
  FROM api_keys k WHERE id = $1) t;

SELECT row_to_json(t)::text AS json FROM (
  SELECT id, user_name AS "user", role, scopes, hint, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
  to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at, to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at, user_id, created_by
  FROM api_keys k WHERE split_part(scopes[1], '/', 1) = ANY ($1::text[]) AND NOT EXISTS (
  SELECT FROM unnest(k.scopes) s
  WHERE NOT (s = ANY ($2::text[]) OR split_part(s, '/', 1) || '/*' = ANY ($3::text[])))
  ORDER BY id LIMIT $4) t; -- a list

-- keys.query:keysMakeRoom
WITH own AS (SELECT id, revoked_at, expires_at FROM api_keys WHERE split_part(scopes[1], '/', 1) = $1),
  gone AS (DELETE FROM api_keys WHERE id IN (
  SELECT id FROM own WHERE least(revoked_at, expires_at) <= now()
  ORDER BY least(revoked_at, expires_at), id
  LIMIT greatest(0, (SELECT count(*) FROM own) - $2::bigint)) RETURNING 1)
  SELECT ((SELECT count(*) FROM own) - (SELECT count(*) FROM gone))::int AS count;

-- keys.query:keyRevoke
UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING id, scopes;

-- console-session.entity
DELETE FROM "console_sessions" WHERE "user_id" = $1;

-- sessions.query:expiredSessionsDelete
DELETE FROM console_sessions WHERE expires_at < now();
