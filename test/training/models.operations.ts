import {
  type Build,
  changes,
  fresh,
  type Operation,
  pathOf,
  previews,
} from '../support/operation-rows.js';
import { aLeasedJob, aModelOf, groupsWith } from '../support/planted.js';
import { previewOf } from '../support/preview.js';
import { aJobWithFile } from './jobs.operations.js';

const ofModel: Build = ({ model }) => ({ params: { id: model } });

/** Makes a checkpoint of step 1 with a file `weights` that contains the marker. */
export const aCheckpointWithFile: Build = async (planted, app) => {
  const { model, job, file, lease } = await aJobWithFile(planted, app);
  const body = { metrics: {}, checkpoint: { files: [file], config: { of: planted.marker } } };
  const completed = await previewOf(app).trainer(job, lease, 'complete', body);
  if (completed.status !== 200) throw new Error(completed.text);
  return { params: { id: model.id, step: '1' } };
};

export const modelsOperations: Record<string, Operation> = {
  'POST /v1/preview/models': changes(
    (planted) => ({ body: { ...pathOf(planted), name: fresh(), base_model: 'b' } }),
    { elsewhere: 403, changes: ['models'] },
  ),
  'GET /v1/preview/models': previews(() => ({}), { elsewhere: 200, isForAll: true }),
  'DELETE /v1/preview/models/:id': changes(
    async ({ project }, app) => ({
      params: { id: (await aModelOf(app, project, 'm')).id },
    }),
    { changes: ['models'] },
  ),
  'GET /v1/preview/models/:id/checkpoints': previews(ofModel),
  'DELETE /v1/preview/models/:id/checkpoints': changes(
    async ({ project }, app) => {
      const model = await aModelOf(app, project, 'm');
      const { job, lease } = await aLeasedJob(app, model);
      await previewOf(app).start(job, lease);
      await previewOf(app).complete(job, lease); // the latest checkpoint cannot be deleted, so this makes another one
      return { params: { id: model.id }, body: { steps: [0] } };
    },
    { changes: ['models'] },
  ),
  'GET /v1/preview/models/:id/checkpoints/:step': previews(aCheckpointWithFile),
  'GET /v1/preview/models/:id/checkpoints/:step/file': previews(async (planted, app) => ({
    ...(await aCheckpointWithFile(planted, app)),
    query: '?name=weights',
  })),
  'POST /v1/preview/models/:model_id/log': changes(
    ({ model }) => ({
      params: { model_id: model },
      body: { split: 'train', trajectory_groups: groupsWith(fresh()) },
    }),
    { changes: ['models'] },
  ),
};
