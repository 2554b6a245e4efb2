import { allOf, sql } from '../../../platform/query/sql.js';
import { MAX_PRICED_NAME } from '../../pricing/price.js';
import { visibleIn } from '../../visible-calls.js';
import { isMatch, type CallSelection } from './calls.query.js';
import { withoutDocuments, conditions, readsDocument } from './document-search.js';

/**
 * Selects the models of the calls that a request may match. It uses the other conditions of the request, except
 * conditions on documents, which would be read twice.
 */
export function modelsQuery(request: CallSelection, limit: number) {
  const { project_id, query } = request;
  const beside = conditions(query).filter((one) => !readsDocument(one) && !namesCost(one));
  return sql<{ llm_id: string }>`
    SELECT DISTINCT m.llm_id FROM calls c CROSS JOIN LATERAL json_to_recordset(c.usage) AS m (llm_id text)
    WHERE ${allOf(visibleIn(project_id), isMatch(withoutDocuments(request, beside)))}
      AND c.usage IS NOT NULL AND length(m.llm_id) <= ${MAX_PRICED_NAME}::int LIMIT ${limit}::bigint`;
}

const namesCost = (condition: unknown) => JSON.stringify(condition).includes('total_cost');
