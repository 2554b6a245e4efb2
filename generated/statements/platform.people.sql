-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- membership.entity
DELETE FROM "memberships" WHERE "id" = $1;

INSERT INTO "memberships"("id", "scope", "kind", "issuer", "subject", "role", "created_at") VALUES ($1, $2, $3, $4, $5, $6, DEFAULT) RETURNING "created_at";

SELECT "Membership"."id" AS "Membership_id", "Membership"."scope" AS "Membership_scope", "Membership"."kind" AS "Membership_kind", "Membership"."issuer" AS "Membership_issuer", "Membership"."subject" AS "Membership_subject", "Membership"."role" AS "Membership_role", "Membership"."created_at" AS "Membership_created_at" FROM "memberships" "Membership" WHERE "Membership"."id" = $1;

SELECT "Membership"."id" AS "Membership_id", "Membership"."scope" AS "Membership_scope", "Membership"."kind" AS "Membership_kind", "Membership"."issuer" AS "Membership_issuer", "Membership"."subject" AS "Membership_subject", "Membership"."role" AS "Membership_role", "Membership"."created_at" AS "Membership_created_at" FROM "memberships" "Membership" WHERE (("Membership"."kind" = $1) AND ("Membership"."issuer" = $2) AND ("Membership"."subject" = $3) AND ("Membership"."scope" = $4)) LIMIT 1;

SELECT COUNT(1) AS "cnt" FROM "memberships" "Membership" WHERE (("Membership"."kind" = $1) AND ("Membership"."issuer" = $2) AND ("Membership"."subject" = $3) AND (("Membership"."scope" > $4 AND "Membership"."scope" < $5)));

SELECT COUNT(1) AS "cnt" FROM "memberships" "Membership" WHERE (("Membership"."scope" = $1));

SELECT COUNT(1) AS "cnt" FROM "memberships" "Membership" WHERE ((("Membership"."scope" > $1 AND "Membership"."scope" < $2)));

UPDATE "memberships" SET "role" = $1 WHERE "id" = $2;

-- people.query:membersWithin
SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END
  WHERE (m.scope = ANY ($1::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END
  WHERE TRUE
  ORDER BY m.id LIMIT $1;

SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END
  WHERE TRUE AND (m.scope = ANY ($1::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($2::text[]))
  ORDER BY m.id LIMIT $3;

-- people.query:memberById
SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END WHERE m.id = $1;

-- people.query:usersWithin
SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  NULL AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE EXISTS (SELECT FROM memberships m
  WHERE (m.scope = ANY ($1::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($2::text[])) AND ((m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
  OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
  ORDER BY u.id LIMIT $3;

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  NULL AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE u.id = $1 AND EXISTS (SELECT FROM memberships m
  WHERE (m.scope = ANY ($2::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($3::text[])) AND ((m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
  OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
  ORDER BY u.id LIMIT $4;

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  u.groups AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE TRUE
  ORDER BY u.id LIMIT $1;

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  u.groups AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE u.id = $1
  ORDER BY u.id LIMIT $2;

-- people.query:sessionsToCheck
UPDATE console_sessions s SET checked_at = now() FROM users u
  WHERE u.id = s.user_id AND s.token_hash IN (
  SELECT token_hash FROM console_sessions
  WHERE refresh_token IS NOT NULL AND checked_at < now() - make_interval(secs => $1) AND expires_at > now()
  ORDER BY checked_at, token_hash LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING s.token_hash, u.issuer, u.subject, s.refresh_token;

-- user.entity
UPDATE "users" SET "is_active" = $1 WHERE ("id" = $2 AND "is_active" = $3);
