// SQL: due times are computed with the clock of the database.
import type { RetentionDays } from '../../platform/config/retention-settings.js';
import { sql } from '../../platform/query/sql.js';

/** A policy, with the times before which its classes of data are erased; null for never. */
export interface DuePolicy {
  project_id: string;
  calls_before: string | null;
  payloads_before: string | null;
  feedback_before: string | null;
  payload_cursor: { id: string; started: string | null } | null;
}

export const duePolicies = () => sql<DuePolicy>`
  SELECT project_id, (now() - make_interval(days => calls_days))::text AS calls_before,
    (now() - make_interval(days => payload_days))::text AS payloads_before,
    (now() - make_interval(days => feedback_days))::text AS feedback_before, payload_cursor
  FROM retention_policies WHERE coalesce(calls_days, payload_days, feedback_days) IS NOT NULL ORDER BY project_id`;

/** Gives the stored default policies the days of the setting. */
export const defaultsUpdate = ({ calls, payloads, feedback }: RetentionDays) => sql`
  UPDATE retention_policies SET calls_days = ${calls}::int, payload_days = ${payloads}::int, feedback_days = ${feedback}::int,
    payload_cursor = NULL
  WHERE is_default AND (calls_days IS DISTINCT FROM ${calls}::int OR payload_days IS DISTINCT FROM ${payloads}::int
    OR feedback_days IS DISTINCT FROM ${feedback}::int)`;

/** Stores the default policy for projects that have none. */
export const defaultsInsert = ({ calls, payloads, feedback }: RetentionDays) => sql`
  INSERT INTO retention_policies (project_id, calls_days, payload_days, feedback_days, is_default)
  SELECT p.project_id, ${calls}::int, ${payloads}::int, ${feedback}::int, true FROM projects p
  WHERE NOT EXISTS (SELECT FROM retention_policies r WHERE r.project_id = p.project_id)
  ON CONFLICT (project_id) DO NOTHING`;

export const defaultsDelete = () => sql`DELETE FROM retention_policies WHERE is_default`;

export const walksRestart = () => sql`
  UPDATE retention_policies SET payload_cursor = NULL, walk_started_at = now()
  WHERE payload_days IS NOT NULL AND walk_started_at < now() - interval '1 day'`;

/** Times in milliseconds since 1970. */
export interface ClockLook {
  now_ms: number;
  seen_ms: number;
  ahead_ms: number;
  waits_until_ms: number | null;
}

/** Locks the last look at the clock, and reads the clock. The first look is stored here. */
export const clockLook = () => sql<ClockLook>`
  INSERT INTO retention_clock (seen_at) VALUES (clock_timestamp()) ON CONFLICT (is_only) DO UPDATE SET is_only = true
  RETURNING extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms, extract(epoch FROM seen_at)::float8 * 1000 AS seen_ms,
    ahead_ms, extract(epoch FROM waits_until)::float8 * 1000 AS waits_until_ms`;
