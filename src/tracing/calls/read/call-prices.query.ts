import { allOf, sql } from '../../../platform/query/sql.js';
import { MAX_PRICED_NAME } from '../../pricing/price.js';
import { visibleIn } from '../../visible-calls.js';
import { isMatch, type CallSelection } from './calls.query.js';
import { RELATIONS } from './call-relations.js';
import { withoutDocuments, conditions, readsDocument } from './document-search.js';

/**
 * Selects the models of the calls that a request may match. It uses the other conditions of the request, except
 * conditions on documents, which would be read twice. A condition on the cost of other calls needs all models.
 */
export function modelsQuery(request: CallSelection, limit: number) {
  const { project_id } = request;
  const all = conditions(request.query);
  const areOfOthers = all.some((one) => namesCost(one) && namesRelation(one));
  const beside = all.filter((one) => !readsDocument(one) && !namesCost(one));
  const inQuestion = areOfOthers ? { project_id } : withoutDocuments(request, beside);
  return sql<{ llm_id: string }>`
    SELECT DISTINCT m.llm_id FROM calls c CROSS JOIN LATERAL json_to_recordset(c.usage) AS m (llm_id text)
    WHERE ${allOf(visibleIn(project_id), isMatch(inQuestion))}
      AND c.usage IS NOT NULL AND length(m.llm_id) <= ${MAX_PRICED_NAME}::int LIMIT ${limit}::bigint`;
}

const namesRelation = (condition: unknown) =>
  RELATIONS.some((operator) => JSON.stringify(condition).includes(`"${operator}"`));
const namesCost = (condition: unknown) => JSON.stringify(condition).includes('total_cost');
