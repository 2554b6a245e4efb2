// SQL: every request may look its key up here, many keys at once; a key is revoked once.
import { textLock } from '../database/advisory-locks.js';
import { entityOf } from '../process/fair-queue.js';
import { allOf, sql, type Sql } from '../query/sql.js';
import type { ApiKey } from './api-key.entity.js';

const KEY = sql`id, user_name AS "userName", role, scopes, secret_hash AS "secretHash", hint,
    created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

export const keysBySecrets = (secretHashes: Buffer[]) => sql<ApiKey>`
  SELECT ${KEY}
  FROM api_keys WHERE secret_hash = ANY (${secretHashes}::bytea[])`;

/** The keys that sessions stand for, each with the hash of the session's token in the place of its own. */
export const keysBySessions = (tokenHashes: Buffer[]) => sql<ApiKey>`
  SELECT k.id, k.user_name AS "userName", k.role, k.scopes, s.token_hash AS "secretHash", k.hint,
    k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt"
  FROM console_sessions s JOIN api_keys k ON k.id = s.api_key_id
  WHERE s.token_hash = ANY (${tokenHashes}::bytea[]) AND NOT s.is_code AND s.expires_at > now()`;

/** Keys whose scopes are all within these, as by `covers`. The first one leads to them by its entity. */
export const keysWithin = (
  scopes: readonly string[],
  after: string | null,
  limit: number,
) => sql<ApiKey>`
  SELECT ${KEY}
  FROM api_keys k
  WHERE ${allOf(
    !scopes.includes('*') &&
      sql`split_part(scopes[1], '/', 1) = ANY (${scopes.map(entityOf)}::text[]) AND NOT EXISTS (
        SELECT FROM unnest(k.scopes) s
        WHERE NOT (s = ANY (${scopes}::text[]) OR split_part(s, '/', 1) || '/*' = ANY (${scopes}::text[])))`,
    after !== null && sql`id > ${after}`,
  )}
  ORDER BY id LIMIT ${limit}`;

/** Those who make keys of an entity wait for each other, so that together they stay within its limit. */
export const KEYS_OF_ENTITY = textLock(0x6b657973);

/** Removes the keys of an entity that ended first, so that it has fewer than `limit`; answers how many it has then. */
export const keysMakeRoom = (entity: string, limit: number) => sql<{ count: number }>`
  WITH own AS (SELECT id, revoked_at, expires_at FROM api_keys WHERE split_part(scopes[1], '/', 1) = ${entity}),
    gone AS (DELETE FROM api_keys WHERE id IN (
      SELECT id FROM own WHERE least(revoked_at, expires_at) <= now()
      ORDER BY least(revoked_at, expires_at), id
      LIMIT greatest(0, (SELECT count(*) FROM own) - ${limit - 1}::bigint)) RETURNING 1)
  SELECT ((SELECT count(*) FROM own) - (SELECT count(*) FROM gone))::int AS count`;

export const keyRevoke = (id: string): Sql<Pick<ApiKey, 'scopes'>> =>
  sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${id} AND revoked_at IS NULL RETURNING id, scopes`;
