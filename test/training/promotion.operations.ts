import type { TestApp } from '../support/app.js';
import { counts, type Operation, type Sent, withBody, writes } from '../support/operation-rows.js';
import { aLeasedJob, aModelOf, type Planted } from '../support/planted.js';
import { previewOf } from '../support/preview.js';

/** Makes a model with two steps, and a request for a gate between them. */
async function twoSteps({ project, marker }: Planted, app: TestApp): Promise<Sent> {
  const model = await aModelOf(app, project, marker);
  const { job, lease } = await aLeasedJob(app, model);
  await previewOf(app).start(job, lease);
  await previewOf(app).complete(job, lease);
  const gate = { score: { feedback: 'custom', path: 'says' } };
  return { body: { project_id: project, model_id: model.id, step: 1, gate } };
}

export const promotionOperations: Record<string, Operation> = {
  'POST /models/promote': writes(
    async (planted, app) => ({
      body: {
        project_id: planted.project,
        model_id: (await aModelOf(app, planted.project, planted.marker)).id,
        step: 0,
        by_hand: true,
      },
    }),
    {
      changes: ['models'],
      plant: ({ project, model }, app) =>
        app.post('/models/promote', {
          project_id: project,
          model_id: model,
          step: 0,
          by_hand: true,
        }),
    },
  ),
  'POST /models/gate': counts(twoSteps),
  'POST /models/aliases/query': counts(withBody(({ model }) => ({ model_id: model }))),
};
