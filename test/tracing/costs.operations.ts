import {
  fresh,
  onlyProject,
  type Operation,
  reads,
  where,
  withBody,
  writes,
} from '../support/operation-rows.js';
import { aPrice } from '../support/planted.js';

export const costsOperations: Record<string, Operation> = {
  'POST /cost/create': writes(
    withBody(() => ({ costs: { [fresh()]: aPrice } })),
    { changes: ['costs'] },
  ),
  'POST /cost/query': reads(onlyProject),
  'POST /cost/purge': writes(
    async ({ project }, app) => {
      const name = fresh();
      await app.post('/cost/create', { project_id: project, costs: { [name]: aPrice } });
      return { body: { project_id: project, query: where('llm_id', name) } };
    },
    { changes: ['costs'] },
  ),
  'POST /cost/explain': reads(withBody(({ callId }) => ({ call_ids: [callId] }))),
};
