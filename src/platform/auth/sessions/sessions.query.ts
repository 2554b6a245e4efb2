// SQL: the clock of the database decides if a session or a code is still valid, in the statement that changes it.
import { sql } from '../../query/sql.js';

interface KeyRow {
  id: string;
  user_name: string;
  scopes: string[];
}

/** Inserts a session of a key. Deletes the oldest sessions of the key, so that it has at most `limit`. */
export const sessionInsert = (
  tokenHash: Buffer,
  keyId: string,
  { seconds, limit }: { seconds: number; limit: number },
) =>
  sql`WITH ended AS (
      DELETE FROM console_sessions WHERE token_hash IN (
        SELECT token_hash FROM console_sessions WHERE api_key_id = ${keyId} AND NOT is_code
        ORDER BY expires_at DESC, token_hash OFFSET ${limit - 1}::bigint FOR UPDATE SKIP LOCKED))
    INSERT INTO console_sessions (token_hash, api_key_id, is_code, expires_at)
    VALUES (${tokenHash}, ${keyId}, FALSE, now() + make_interval(secs => ${seconds}))`;

/** Data of the provider that a person's session stores. */
export interface ProviderSession {
  issuer: string;
  sid: string | null;
  idToken: string | null;
  refreshToken: string | null;
}

/** Inserts a session of a person. Deletes the person's oldest sessions, so that there are at most `limit`. */
export const personSessionInsert = (
  tokenHash: Buffer,
  userId: string,
  { issuer, sid, idToken, refreshToken }: ProviderSession,
  { seconds, limit }: { seconds: number; limit: number },
) =>
  sql`WITH ended AS (
      DELETE FROM console_sessions WHERE token_hash IN (
        SELECT token_hash FROM console_sessions WHERE user_id = ${userId}
        ORDER BY expires_at DESC, token_hash OFFSET ${limit - 1}::bigint FOR UPDATE SKIP LOCKED))
    INSERT INTO console_sessions (token_hash, user_id, is_code, expires_at, issuer, sid, id_token, refresh_token, checked_at)
    VALUES (${tokenHash}, ${userId}, FALSE, now() + make_interval(secs => ${seconds}), ${issuer}, ${sid}, ${idToken},
      ${refreshToken}, now())`;

export const codeInsert = (codeHash: Buffer, keyId: string, seconds: number) =>
  sql`INSERT INTO console_sessions (token_hash, api_key_id, is_code, expires_at)
    VALUES (${codeHash}, ${keyId}, TRUE, now() + make_interval(secs => ${seconds}))`;

/** Selects the codes of a list that can still be redeemed, as base64 hashes. */
export const codesKnown = (codeHashes: Buffer[]) => sql<{ hash: string }>`
    SELECT encode(token_hash, 'base64') AS hash FROM console_sessions
    WHERE token_hash = ANY (${codeHashes}::bytea[]) AND is_code AND expires_at > now()`;

/** Turns the row of the code into the row of the session, so that a code works once, even when two requests send it. */
export const codeRedeem = (codeHash: Buffer, tokenHash: Buffer, seconds: number) =>
  sql<KeyRow>`UPDATE console_sessions s
    SET token_hash = ${tokenHash}, is_code = FALSE, expires_at = now() + make_interval(secs => ${seconds})
    FROM api_keys k
    WHERE s.token_hash = ${codeHash} AND s.is_code AND s.expires_at > now() AND k.id = s.api_key_id
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    RETURNING k.id, k.user_name, k.scopes`;

export const expiredSessionsDelete = () =>
  sql`DELETE FROM console_sessions WHERE expires_at < now()`;

/** Selects the oldest valid key that may do everything: the key of the first start, unless it was revoked. */
export const oldestAdminKey = () =>
  sql<KeyRow>`SELECT id, user_name, scopes FROM api_keys
    WHERE role = 'admin' AND '*' = ANY(scopes) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
    ORDER BY id LIMIT 1`;

/** Selects a valid key that may use the console. */
export const loginKey = (id: string) =>
  sql<KeyRow>`SELECT id, user_name, scopes FROM api_keys
    WHERE id = ${id} AND role <> 'trainer' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;
