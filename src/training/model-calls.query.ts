// SQL that finds the model of a call in its documents.
import { column, jsonAt, jsonValueAt } from '../platform/query/columns.js';
import { sql } from '../platform/query/sql.js';

export const INPUTS = column.json(sql`c.inputs`, sql`c.is_opaque`);
const SUMMARY = column.json(sql`c.summary`, sql`c.is_opaque`);

/** True when the call `c` requested a model by this name, or its usage is counted under the name. */
export const isCallOfModel = (name: string) => sql`
  CASE WHEN ${jsonValueAt(SUMMARY, ['usage', name])} IS NOT NULL THEN TRUE
    ELSE coalesce(${jsonAt(INPUTS, ['model']).sql} = ${name}, FALSE) END`;
