// SQL: every request may look its key up here, many keys in one statement; a key is revoked once.
import { textLock } from '../../database/advisory-locks.js';
import { ownerEntity } from '../../process/fair-queue.js';
import { allOf, sql, type Sql } from '../../query/sql.js';
import type { ApiKey } from './api-key.entity.js';
import type { Person } from '../grants.js';

/** The owner of a secret or a session: a key, a person, or a key of a person. */
export type FoundCredential = Pick<
  ApiKey,
  'id' | 'userId' | 'secretHash' | 'expiresAt' | 'revokedAt'
> & {
  /** Null for a session of a person. */
  key: Pick<ApiKey, 'userName' | 'role' | 'scopes'> | null;
  person: Person | null;
};

const FOUND = (
  id: Sql,
  userId: Sql,
  hash: Sql,
) => sql`${id} AS id, ${userId} AS "userId", ${hash} AS "secretHash",
    k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", ${personJson(userId)} AS person,
    CASE WHEN k.id IS NOT NULL THEN json_build_object('userName', k.user_name, 'role', k.role, 'scopes', k.scopes) END AS key`;

/**
 * Selects a `Person` as JSON. Without an id, no table of people is read. The oldest role comes first: its entity gives
 * the person a share of the process (`shareEntity`), which another entity cannot change.
 */
export const personJson = (userId: Sql) => sql`CASE WHEN ${userId} IS NOT NULL THEN (
    SELECT json_build_object('id', u.id, 'issuer', u.issuer, 'subject', u.subject, 'email', u.email, 'emailVerified', u.email_verified,
      'name', u.name, 'groups', u.groups, 'isActive', u.is_active, 'memberships', (
        SELECT coalesce(json_agg(json_build_object('role', m.role, 'scope', m.scope) ORDER BY m.id), '[]')
        FROM memberships m
        WHERE (m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
          OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
    FROM users u WHERE u.id = ${userId}) END`;

export const keysBySecrets = (secretHashes: Buffer[]) => sql<FoundCredential>`
  SELECT ${FOUND(sql`k.id`, sql`k.user_id`, sql`k.secret_hash`)}
  FROM api_keys k WHERE k.secret_hash = ANY (${secretHashes}::bytea[])`;

export const keysBySessions = (tokenHashes: Buffer[]) => sql<FoundCredential>`
  SELECT ${FOUND(sql`coalesce(k.id, s.user_id)`, sql`coalesce(k.user_id, s.user_id)`, sql`s.token_hash`)}
  FROM console_sessions s LEFT JOIN api_keys k ON k.id = s.api_key_id
  WHERE s.token_hash = ANY (${tokenHashes}::bytea[]) AND NOT s.is_code AND s.expires_at > now()
    AND (k.id IS NOT NULL OR s.user_id IS NOT NULL)`;

const isoTime = (name: Sql) =>
  sql`to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const shownKeys = (rest: Sql) => sql<{ json: string }>`
  SELECT row_to_json(t)::text AS json FROM (
    SELECT id, user_name AS "user", role, scopes, hint, ${isoTime(sql`created_at`)} AS created_at,
      ${isoTime(sql`expires_at`)} AS expires_at, ${isoTime(sql`revoked_at`)} AS revoked_at, user_id, created_by
    FROM api_keys k ${rest}) t`;

export const keyShown = (id: string) => shownKeys(sql`WHERE id = ${id}`);

/**
 * Selects keys whose scopes are all within these, by the rule of `scopeCovers`. The entity of a key's first scope is
 * indexed.
 */
export const keysWithin = (scopes: readonly string[], after: string | null, limit: number) =>
  shownKeys(sql`WHERE ${allOf(
    !scopes.includes('*') &&
      sql`split_part(scopes[1], '/', 1) = ANY (${scopes.map(ownerEntity)}::text[]) AND NOT EXISTS (
        SELECT FROM unnest(k.scopes) s
        WHERE NOT (s = ANY (${scopes}::text[]) OR split_part(s, '/', 1) || '/*' = ANY (${scopes}::text[])))`,
    after !== null && sql`id > ${after}`,
  )}
    ORDER BY id LIMIT ${limit}`);

export const personalKeys = (userId: string, limit: number) =>
  shownKeys(
    sql`WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > now() ORDER BY id LIMIT ${limit}`,
  );

/** Serializes the creation of keys of one entity or person, so that concurrent requests stay within its limit. */
export const KEYS_OF_ENTITY = textLock(0x6b657973);

/**
 * Deletes keys of an entity that have ended, first those that ended first, until it has fewer than `limit`. Returns the
 * remaining number.
 */
export const keysMakeRoom = (entity: string, limit: number) => sql<{ count: number }>`
  WITH own AS (SELECT id, revoked_at, expires_at FROM api_keys WHERE split_part(scopes[1], '/', 1) = ${entity}),
    gone AS (DELETE FROM api_keys WHERE id IN (
      SELECT id FROM own WHERE least(revoked_at, expires_at) <= now()
      ORDER BY least(revoked_at, expires_at), id
      LIMIT greatest(0, (SELECT count(*) FROM own) - ${limit - 1}::bigint)) RETURNING 1)
  SELECT ((SELECT count(*) FROM own) - (SELECT count(*) FROM gone))::int AS count`;

export const keyRevoke = (id: string): Sql<Pick<ApiKey, 'scopes'>> =>
  sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${id} AND revoked_at IS NULL RETURNING id, scopes`;
