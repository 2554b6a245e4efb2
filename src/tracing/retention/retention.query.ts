// SQL: due times are computed with the clock of the database.
import { sql } from '../../platform/query/sql.js';

/** A policy, with the times before which calls and payloads are erased; null for never. */
export interface DuePolicy {
  project_id: string;
  calls_before: string | null;
  payloads_before: string | null;
  payload_cursor: { id: string; started: string | null } | null;
}

export const duePolicies = () => sql<DuePolicy>`
  SELECT project_id, (now() - make_interval(days => calls_days))::text AS calls_before,
    (now() - make_interval(days => payload_days))::text AS payloads_before, payload_cursor
  FROM retention_policies WHERE calls_days IS NOT NULL OR payload_days IS NOT NULL ORDER BY project_id`;

export const walksRestart = () => sql`
  UPDATE retention_policies SET payload_cursor = NULL, walk_started_at = now()
  WHERE payload_days IS NOT NULL AND walk_started_at < now() - interval '1 day'`;
