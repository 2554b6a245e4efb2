import { fresh, type Operation, reads, writes } from '../support/operation-rows.js';
import { aPrompt } from '../tracing/prompts.operations.js';
import type { Planted } from '../support/planted.js';

const NAME = 'door/prompt';
const headers = ({ project }: Planted) => ({ project_id: project });

export const langfusePromptsOperations: Record<string, Operation> = {
  'POST /api/public/v2/prompts': writes(
    (planted) => ({ headers: headers(planted), body: { name: 'written', prompt: fresh() } }),
    {
      changes: ['objects'],
      harmless: 'makes a version that no label points to but those it names',
    },
  ),
  'GET /api/public/v2/prompts': {
    ...reads((planted) => ({ headers: headers(planted), query: '?limit=100' })),
    plant: (planted, app) => aPrompt(planted, app, `door-${planted.marker}`),
  },
  'GET /api/public/v2/prompts/*name': {
    ...reads((planted) => ({ headers: headers(planted), params: { name: NAME } })),
    plant: (planted, app) => aPrompt(planted, app, NAME),
  },
  'PATCH /api/public/v2/prompts/*name/versions/:version': writes(
    async (planted, app) => {
      const name = fresh();
      await aPrompt(planted, app, name);
      return {
        headers: headers(planted),
        params: { name, version: '1' },
        body: { newLabels: ['tried'] },
      };
    },
    { changes: ['objects'], harmless: 'moves the labels to the version that it names' },
  ),
  'DELETE /api/public/v2/prompts/*name': writes(
    async (planted, app) => {
      const name = fresh();
      await aPrompt(planted, app, name);
      return { headers: headers(planted), params: { name } };
    },
    { changes: ['objects'], harmless: 'answers 404 when it is gone, and no number is used again' },
  ),
};
