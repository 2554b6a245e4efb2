// Plain SQL: a conditional counter that processes share, and the clock of the database.
import { sql } from '../../../platform/query/sql.js';

const TODAY = sql`(now() AT TIME ZONE 'UTC')::date`;

/** Seconds until the next day. */
const REST = sql`ceil(extract(epoch FROM (${TODAY} + 1)::timestamp - (now() AT TIME ZONE 'UTC')))::int`;

/** Counts a request of the holder. Returns no row when a limit is reached; a limit of 0 means no limit. */
export const useUpsert = (holderId: string, limits: { requests: number; cost: number }) => sql<{
  requests: string;
}>`
  INSERT INTO gateway_uses AS u (key_id, day, requests) VALUES (${holderId}, ${TODAY}, 1)
  ON CONFLICT (key_id, day) DO UPDATE SET requests = u.requests + 1
  WHERE (${limits.requests}::bigint = 0 OR u.requests < ${limits.requests}::bigint)
    AND (${limits.cost}::numeric = 0 OR u.cost < ${limits.cost}::numeric)
  RETURNING u.requests`;

export const useQuery = (holderId: string) => sql<{ requests: string; cost: string; rest: number }>`
  SELECT u.requests, u.cost, ${REST} AS rest FROM gateway_uses u
  WHERE u.key_id = ${holderId} AND u.day = ${TODAY}`;

/** Inserts a row if needed: a request that began yesterday may be the first one that adds costs today. */
export const costUpsert = (holderId: string, cost: string) => sql`
  INSERT INTO gateway_uses AS u (key_id, day, cost) VALUES (${holderId}, ${TODAY}, ${cost}::numeric)
  ON CONFLICT (key_id, day) DO UPDATE SET cost = u.cost + excluded.cost`;

export const oldUsesDelete = () => sql`
  DELETE FROM gateway_uses WHERE day < ${TODAY} - 90`;
