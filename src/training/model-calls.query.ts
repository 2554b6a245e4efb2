// SQL: which model made a call stands in its documents.
import { column, jsonAt, jsonValueAt } from '../platform/query/columns.js';
import { sql } from '../platform/query/sql.js';

export const INPUTS = column.json(sql`c.inputs`, sql`c.is_opaque`);
const SUMMARY = column.json(sql`c.summary`, sql`c.is_opaque`);

/** Whether the call `c` asked for a model by this name, or its usage was counted under it. */
export const isCallOfModel = (name: string) => sql`
  CASE WHEN ${jsonValueAt(SUMMARY, ['usage', name])} IS NOT NULL THEN TRUE
    ELSE coalesce(${jsonAt(INPUTS, ['model']).sql} = ${name}, FALSE) END`;
