// Plain SQL: these statements need the clock of the database, and read and lock rows in one step.
import { sql, type Sql } from '../../../platform/query/sql.js';

/**
 * A process whose row was not updated for this long has ended. A running process updates it four times in this
 * interval.
 */
const LOST_AFTER = sql`interval '20 seconds'`;
const MAX_PROCESSES = 100;
export const MAX_CALLS = 100;

export interface GatewayProcessKey {
  project_id: string;
  process_id: string;
}

export const processInsert = (projectId: string, processId: string, beganAt: Date) => sql`
  INSERT INTO gateway_processes (project_id, process_id, began_at, seen_at)
  VALUES (${projectId}, ${processId}::uuid, ${beganAt}, now())
  ON CONFLICT (project_id, process_id) DO UPDATE SET seen_at = excluded.seen_at`;

/** Updates the rows of the process. Returns the projects in which it is still registered. */
export const processSeen = (processId: string, projects: readonly string[]) => sql<{
  project_id: string;
}>`
  UPDATE gateway_processes SET seen_at = now()
  WHERE project_id = ANY(${projects}::text[]) AND process_id = ${processId}::uuid RETURNING project_id`;

export const lostProcesses = () => sql<GatewayProcessKey>`
  SELECT project_id, process_id::text FROM gateway_processes WHERE seen_at < now() - ${LOST_AFTER}
  ORDER BY project_id, process_id LIMIT ${MAX_PROCESSES}`;

/** Locks the row of a lost process. Returns no row if another process has locked it or the process was seen again. */
export const lostLock = ({ project_id, process_id }: GatewayProcessKey) => sql<{
  began_at: string;
  seen_at: string;
}>`
  SELECT began_at::text, seen_at::text FROM gateway_processes
  WHERE project_id = ${project_id} AND process_id = ${process_id}::uuid AND seen_at < now() - ${LOST_AFTER}
  FOR UPDATE SKIP LOCKED`;

/**
 * Calls that the process began and did not end, with the time when the process was last seen. `field` reads the
 * attribute that names the process.
 */
export const lostCalls = (
  { project_id, process_id }: GatewayProcessKey,
  { began_at, seen_at }: { began_at: string; seen_at: string },
  field: Sql,
) => sql<{ id: string; ended_at: Date }>`
  SELECT c.id, greatest(c.started_at, ${seen_at}::timestamptz) AS ended_at FROM calls c
  WHERE c.project_id = ${project_id} AND c.ended_at IS NULL AND c.op_name IS NOT NULL
    AND c.started_at >= ${began_at}::timestamptz AND ${field} = ${process_id}
  ORDER BY c.id LIMIT ${MAX_CALLS} FOR UPDATE`;

export const processDelete = ({ project_id, process_id }: GatewayProcessKey) => sql`
  DELETE FROM gateway_processes WHERE project_id = ${project_id} AND process_id = ${process_id}::uuid`;
