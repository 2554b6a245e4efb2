import type { TestApp } from '../support/app.js';
import { type Build, type Operation, trains } from '../support/operation-rows.js';
import type { Planted } from '../support/planted.js';
import { previewOf } from '../support/preview.js';
import { aCheckpointWithFile } from './models.operations.js';

/** A request of a server that serves step 0 of the planted model. */
const servesModel =
  (more: object): Build =>
  ({ model }) => ({ body: { model_id: model, step: 0, provider: 'loras', ...more } });

export async function plantServed(
  { project, model, marker }: Planted,
  app: TestApp,
): Promise<void> {
  const body = { model_id: model, step: 0, provider: 'loras', upstream_model: marker };
  await previewOf(app).call('POST', '/trainer/serving', { ...body, ttl_seconds: 600 });
  await app.query('INSERT INTO gateway_uses (key_id, day) VALUES ($1, now()) ON CONFLICT DO NOTHING', [marker]); // prettier-ignore
  await app.query(`INSERT INTO gateway_processes VALUES ($1, gen_random_uuid(), now(), now() + interval '1 hour')`, [project]); // prettier-ignore
}

export const servingOperations: Record<string, Operation> = {
  'POST /v1/preview/trainer/serving': trains(
    servesModel({ upstream_model: 'lora', ttl_seconds: 60 }),
    {
      changes: ['models'],
      harmless: 'says the same again, for a time only',
    },
  ),
  'POST /v1/preview/trainer/serving/end': trains(
    async (planted, app) => {
      await plantServed(planted, app);
      return servesModel({})(planted, app);
    },
    { changes: ['models'], harmless: 'says the same again' },
  ),
  'GET /v1/preview/trainer/models': trains(() => ({}), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
  }),
  'GET /v1/preview/trainer/models/:id/checkpoints/:step/files': trains(aCheckpointWithFile, {
    isShowing: true,
  }),
  'GET /v1/preview/trainer/models/:id/checkpoints/:step/file': trains(
    async (planted, app) => ({
      ...(await aCheckpointWithFile(planted, app)),
      query: '?name=weights',
    }),
    { isShowing: true },
  ),
};
