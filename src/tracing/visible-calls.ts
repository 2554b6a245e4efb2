import { sql } from '../platform/query/sql.js';

/** Of the row `c` of `calls`: it has started, and is not deleted. Written as the partial indexes of the table write it. */
const isVisible = sql`c.op_name IS NOT NULL AND c.deleted_at IS NULL`;

/** The same, in a project. */
export const visibleIn = (projectId: string) => sql`c.project_id = ${projectId} AND ${isVisible}`;

/** Milliseconds with fractions from the start to the end of the call `c`; null while it runs. */
export const LATENCY_MS = sql`(extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8`;

/** It is a turn of a thread, if it is visible: docs/adr/0030-thread-statistics.md. */
export const isTurn = sql`c.id = c.turn_id AND c.thread_id <> ''`;
