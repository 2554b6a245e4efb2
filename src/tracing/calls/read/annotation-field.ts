import { column, type Operand } from '../../../platform/query/columns.js';
import { type Sql, sql } from '../../../platform/query/sql.js';

/**
 * Returns the field `annotation_queue_items.queue_id`. A call may be in several queues: the field is equal to each of
 * them. As a value to return or to sort by, it is the first one.
 */
export function queueField(projectId: string): Operand {
  const items = (condition: Sql) =>
    sql`FROM annotation_queue_items i WHERE i.project_id = ${projectId} AND ${condition}`;
  return column.text(sql`(SELECT min(i.queue_id) ${items(sql`i.call_id = c.id`)})`, {
    cases: { get: (id) => sql`(c.id IN (SELECT i.call_id ${items(sql`i.queue_id = ${id}`)}))` },
  });
}
