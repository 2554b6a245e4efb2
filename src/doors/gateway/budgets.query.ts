// SQL: a guarded count, which processes share, and times of the database.
import { sql } from '../../platform/query/sql.js';

const TODAY = sql`(now() AT TIME ZONE 'UTC')::date`;

/** Seconds up to the next day. */
const REST = sql`ceil(extract(epoch FROM (${TODAY} + 1)::timestamp - (now() AT TIME ZONE 'UTC')))::int`;

/** Counts a request of the key; 0 is no limit. No row where it may ask nothing more today. */
export const useUpsert = (keyId: string, limits: { requests: number; cost: number }) => sql<{
  requests: string;
}>`
  INSERT INTO gateway_uses AS u (key_id, day, requests) VALUES (${keyId}, ${TODAY}, 1)
  ON CONFLICT (key_id, day) DO UPDATE SET requests = u.requests + 1
  WHERE (${limits.requests}::bigint = 0 OR u.requests < ${limits.requests}::bigint)
    AND (${limits.cost}::numeric = 0 OR u.cost < ${limits.cost}::numeric)
  RETURNING u.requests`;

/** What the key has used today, and seconds up to the next day. */
export const useQuery = (keyId: string) => sql<{ requests: string; cost: string; rest: number }>`
  SELECT u.requests, u.cost, ${REST} AS rest FROM gateway_uses u
  WHERE u.key_id = ${keyId} AND u.day = ${TODAY}`;

/** A request that began yesterday may be the first one to cost something today. */
export const costUpsert = (keyId: string, cost: string) => sql`
  INSERT INTO gateway_uses AS u (key_id, day, cost) VALUES (${keyId}, ${TODAY}, ${cost}::numeric)
  ON CONFLICT (key_id, day) DO UPDATE SET cost = u.cost + excluded.cost`;

/** Days that nobody looks at any more. */
export const oldUsesDelete = () => sql`
  DELETE FROM gateway_uses WHERE day < ${TODAY} - 90`;
