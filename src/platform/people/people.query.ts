// SQL: lists that the scopes of an admin filter, and changes that a sign-in makes in one statement.
import { v7 as uuidv7 } from 'uuid';
import type { Person } from '../auth/grants.js';
import { personJson } from '../auth/keys/keys.query.js';
import { textLock } from '../database/advisory-locks.js';
import { allOf, sql, type Sql } from '../query/sql.js';
import type { MemberDto, UserDto } from './people.dto.js';
import type { Profile } from './profile.js';

/** Serializes role changes of one entity, so that concurrent requests stay within its limits. */
export const MEMBERS_OF_ENTITY = textLock(0x6d656d62);

/** Tests that a scope is one of these scopes, or within one. */
const isWithin = (scope: Sql, scopes: readonly string[]) =>
  scopes.includes('*')
    ? sql`TRUE`
    : sql`(${scope} = ANY (${scopes}::text[]) OR split_part(${scope}, '/', 1) || '/*' = ANY (${scopes}::text[]))`;

const TIME = (time: Sql) => sql`to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const MEMBER = sql`m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
    CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
    u.name, ${TIME(sql`u.last_seen`)} AS last_seen, u.is_active AS active`;

/** Joins a user by the text of the id, which is what members store. */
const MEMBERS = sql`memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END`;

export const membersWithin = (
  scopes: readonly string[],
  scope: string | null,
  { after, limit }: { after: string | null; limit: number },
) => sql<MemberDto>`
  SELECT ${MEMBER} FROM ${MEMBERS}
  WHERE ${allOf(
    isWithin(sql`m.scope`, scopes),
    scope !== null && isWithin(sql`m.scope`, [scope]),
    after !== null && sql`m.id > ${after}`,
  )}
  ORDER BY m.id LIMIT ${limit}`;

export const memberById = (id: string) =>
  sql<MemberDto>`SELECT ${MEMBER} FROM ${MEMBERS} WHERE m.id = ${id}`;

/** Selects people who have a role within the scopes, directly or by a group. Callers of all scopes see everybody. */
export const usersWithin = (
  scopes: readonly string[],
  { after, limit, id }: { after: string | null; limit: number; id?: string },
) => sql<UserDto>`
  SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
    ${scopes.includes('*') ? sql`u.groups` : sql`NULL`} AS groups, u.is_active AS active,
    ${TIME(sql`u.first_seen`)} AS first_seen, ${TIME(sql`u.last_seen`)} AS last_seen
  FROM users u
  WHERE ${allOf(
    id !== undefined && sql`u.id = ${id}`,
    after !== null && sql`u.id > ${after}`,
    !scopes.includes('*') &&
      sql`EXISTS (SELECT FROM memberships m
        WHERE ${isWithin(sql`m.scope`, scopes)} AND ((m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
          OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))`,
  )}
  ORDER BY u.id LIMIT ${limit}`;

/**
 * Turns the roles of an e-mail address into roles of the person who has it. If both have a role in a scope, the higher
 * one is kept.
 */
export const emailMembersClaim = (userId: string, issuer: string, email: string) => sql`
  WITH claimed AS (DELETE FROM memberships WHERE kind = 'email' AND issuer = ${issuer} AND subject = ${email} RETURNING *)
  INSERT INTO memberships AS m (id, scope, kind, issuer, subject, role, created_at)
  SELECT id, scope, 'user', '', ${userId}, role, created_at FROM claimed
  ON CONFLICT (kind, issuer, subject, scope) DO UPDATE
    SET role = CASE WHEN 'admin' IN (m.role, excluded.role) THEN 'admin'
      WHEN 'writer' IN (m.role, excluded.role) THEN 'writer' ELSE 'reader' END`;

/** Stores the account of a profile, with the provider's current data. */
export const userSeen = (profile: Profile) => sql<{ id: string }>`
  INSERT INTO users AS u (id, issuer, subject, email, email_verified, name, groups)
  VALUES (${uuidv7()}, ${profile.issuer}, ${profile.subject}, ${profile.email}, ${profile.emailVerified}, ${profile.name},
    ${profile.groups}::text[])
  ON CONFLICT (issuer, subject) DO UPDATE
    SET email = excluded.email, email_verified = excluded.email_verified, name = excluded.name, groups = excluded.groups, last_seen = now()
  RETURNING u.id`;

export const personById = (id: string) =>
  sql<{ person: Person | null }>`SELECT ${personJson(sql`${id}::uuid`)} AS person`;

/** Selects sessions of people whose groups were last read some time ago. Each session goes to one process only. */
export const sessionsToCheck = (olderThanSeconds: number, limit: number) => sql<{
  token_hash: Buffer;
  issuer: string;
  subject: string;
  refresh_token: string;
}>`
  UPDATE console_sessions s SET checked_at = now() FROM users u
  WHERE u.id = s.user_id AND s.token_hash IN (
    SELECT token_hash FROM console_sessions
    WHERE refresh_token IS NOT NULL AND checked_at < now() - make_interval(secs => ${olderThanSeconds}) AND expires_at > now()
    ORDER BY checked_at, token_hash LIMIT ${limit} FOR UPDATE SKIP LOCKED)
  RETURNING s.token_hash, u.issuer, u.subject, s.refresh_token`;

/** Ends sessions at the request of a provider: the one it names, or all of a person. */
export const sessionsEnd = (issuer: string, sid: string | null, subject: string | null) => sql<{
  user_id: string;
}>`
  DELETE FROM console_sessions s USING users u
  WHERE u.id = s.user_id AND s.issuer = ${issuer} AND u.issuer = ${issuer}
    AND ${allOf(sid !== null && sql`s.sid = ${sid}`, subject !== null && sql`u.subject = ${subject}`)}
  RETURNING s.user_id`;
