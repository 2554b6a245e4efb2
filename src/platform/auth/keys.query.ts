// SQL: every request may look its key up here, many keys at once; a key is revoked once.
import { sql, type Sql } from '../query/sql.js';
import type { ApiKey } from './api-key.entity.js';

export const keysBySecrets = (secretHashes: Buffer[]) => sql<ApiKey>`
  SELECT id, user_name AS "userName", role, scopes, secret_hash AS "secretHash", hint,
    created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"
  FROM api_keys WHERE secret_hash = ANY (${secretHashes}::bytea[])`;

/** The keys that sessions stand for, each with the hash of the session's token in the place of its own. */
export const keysBySessions = (tokenHashes: Buffer[]) => sql<ApiKey>`
  SELECT k.id, k.user_name AS "userName", k.role, k.scopes, s.token_hash AS "secretHash", k.hint,
    k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt"
  FROM console_sessions s JOIN api_keys k ON k.id = s.api_key_id
  WHERE s.token_hash = ANY (${tokenHashes}::bytea[]) AND NOT s.is_code AND s.expires_at > now()`;

export const keyRevoke = (id: string): Sql<Pick<ApiKey, 'scopes'>> =>
  sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${id} AND revoked_at IS NULL RETURNING id, scopes`;
