import type { TestApp } from '../support/app.js';
import { changes, fresh, lists, type Operation, pathOf } from '../support/operation-rows.js';
import type { Planted } from '../support/planted.js';

const aRow = (text: string) =>
  JSON.stringify({
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: 'yes' },
    ],
  });

async function aTrainingData({ project }: Pick<Planted, 'project'>, app: TestApp, text = fresh()) {
  const query = new URLSearchParams(pathOf({ project })).toString();
  const response = await fetch(`${app.url}/v1/preview/training-data?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/jsonl' },
    body: aRow(text),
  });
  return (await response.json()) as { id: string; url: string };
}

export const sftOperations: Record<string, Operation> = {
  'POST /v1/preview/sft-training-jobs': changes(
    async (planted, app) => ({
      body: { model_id: planted.model, training_data_url: (await aTrainingData(planted, app)).url },
    }),
    { changes: ['jobs'] },
  ),
  'POST /v1/preview/training-data': changes(
    (planted) => ({
      query: `?${new URLSearchParams(pathOf(planted)).toString()}`,
      headers: { 'content-type': 'application/jsonl' },
      body: Buffer.from(aRow(fresh())),
    }),
    {
      elsewhere: 403,
      plant: ({ project, marker }, app) => aTrainingData({ project }, app, marker),
    },
  ),
  'GET /v1/preview/training-data': lists(() => ({})),
  'DELETE /v1/preview/training-data/:id': changes(
    async (planted, app) => ({ params: { id: (await aTrainingData(planted, app)).id } }),
    { harmless: 'finds nothing the second time' },
  ),
};
