// SQL: the models whose prices a condition on the cost of calls needs.
import { allOf, sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';
import { isMatch, type Matched } from './calls.query.js';
import { conditions, readsDocument } from './document-search.js';

/** Names that are longer have no price. */
const MAX_NAME = 256;

/**
 * The models of the calls that a request may be about: those that its other conditions leave, as far as they read no documents,
 * which would be read twice.
 */
export function modelsQuery({ project_id, filter, query }: Matched, limit: number) {
  const { input_refs: _inputs, output_refs: _outputs, ...columns } = filter ?? {};
  const beside = conditions(query).filter((one) => !readsDocument(one) && !namesCost(one));
  const $and = beside.length > 0 ? { query: { $expr: { $and: beside } } } : {};
  return sql<{ llm_id: string }>`
    SELECT DISTINCT m.llm_id FROM calls c CROSS JOIN LATERAL json_to_recordset(c.usage) AS m (llm_id text)
    WHERE ${allOf(visibleIn(project_id), isMatch({ project_id, filter: columns, ...$and }))}
      AND c.usage IS NOT NULL AND length(m.llm_id) <= ${MAX_NAME}::int LIMIT ${limit}::bigint`;
}

const namesCost = (condition: unknown) => JSON.stringify(condition).includes('total_cost');
