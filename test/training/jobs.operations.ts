import type { TestApp } from '../support/app.js';
import {
  type Build,
  changes,
  fresh,
  type Operation,
  previews,
  trains,
} from '../support/operation-rows.js';
import { aLeasedJob, aModelOf, aQueuedJob, groupsWith, type Planted } from '../support/planted.js';
import { manifestFile, previewOf, sha256Of } from '../support/preview.js';

const ofJob: Build = ({ job }) => ({ params: { id: job } });

/** A request of the trainer that holds the planted job. */
const byTrainer =
  (body?: object): Build =>
  ({ job, lease }) => ({ params: { id: job }, headers: { 'x-lease-token': lease }, body });

/** Makes a job whose trainer has uploaded a file `weights` that contains the marker. */
export async function aJobWithFile({ project, marker }: Planted, app: TestApp) {
  const model = await aModelOf(app, project, 'm');
  const { job, lease } = await aLeasedJob(app, model);
  const preview = previewOf(app);
  await preview.start(job, lease);
  const bytes = Buffer.from(marker);
  await preview.part(job, lease, bytes);
  const file = manifestFile('weights', bytes);
  return { model, job, file, headers: { 'x-lease-token': lease }, lease };
}

/** A request that ends a new job. */
const endsJob =
  (body: object): Build =>
  async ({ project }, app) => {
    const { job, lease } = await aLeasedJob(app, await aModelOf(app, project, 'm'));
    await previewOf(app).start(job, lease);
    return { params: { id: job }, headers: { 'x-lease-token': lease }, body };
  };

export const jobsOperations: Record<string, Operation> = {
  'POST /v1/preview/training-jobs': changes(
    ({ model }) => ({
      body: { model_id: model, trajectory_groups: groupsWith(fresh()) },
    }),
    { changes: ['jobs'] },
  ),
  'GET /v1/preview/training-jobs': previews(() => ({}), {
    elsewhere: 200,
    isForAll: true,
  }),
  'GET /v1/preview/training-jobs/:id': previews(ofJob),
  'POST /v1/preview/training-jobs/:id/cancel': changes(
    async ({ project }, app) => ({
      params: { id: await aQueuedJob(app, await aModelOf(app, project, 'm')) },
    }),
    { changes: ['jobs'] },
  ),
  'GET /v1/preview/training-jobs/:id/events': previews(ofJob),
  'POST /v1/preview/trajectories/query': previews(({ model }) => ({ body: { model_id: model } })),

  'POST /v1/preview/trainer/claims': trains(
    async ({ project, marker }, app) => {
      const model = await aModelOf(app, project, marker);
      await aQueuedJob(app, model, marker);
      return { body: { worker_id: 'w', base_models: [model.base] } };
    },
    {
      elsewhere: 204,
      isShowing: true,
      changes: ['jobs'],
      harmless: 'leases a job for a time only; its token must not be kept',
    },
  ),
  'GET /v1/preview/trainer/jobs/:id/payload': trains(byTrainer(), { isShowing: true }),
  'GET /v1/preview/trainer/jobs/:id/file': trains(
    async (planted, app) => {
      const { job, file, headers, lease } = await aJobWithFile(planted, app);
      await previewOf(app).trainer(job, lease, 'state', { files: [file] });
      return { params: { id: job }, query: '?of=state&name=weights', headers };
    },
    { isShowing: true },
  ),
  'GET /v1/preview/trainer/jobs/:id/parts': trains(byTrainer()),
  'POST /v1/preview/trainer/jobs/:id/parts': trains(
    ({ job, lease }) => {
      const body = Buffer.from(fresh());
      return {
        params: { id: job },
        query: `?file=${sha256Of(body)}&part=0`,
        headers: { 'x-lease-token': lease, 'content-type': 'application/octet-stream' },
        body,
      };
    },
    {
      harmless: 'a part that is here stays as it is',
      plant: async ({ job, lease, marker }, app) =>
        previewOf(app).part(job, lease, Buffer.from(marker)),
    },
  ),
  'POST /v1/preview/trainer/jobs/:id/state': trains(
    async (planted, app) => {
      const { job, file, headers } = await aJobWithFile(planted, app);
      return { params: { id: job }, headers, body: { files: [file] } };
    },
    { harmless: 'counts for the holder of the lease only, and names the same files' },
  ),
  'POST /v1/preview/trainer/jobs/:id/heartbeat': trains(byTrainer(), {
    harmless: 'counts for the holder of the lease only',
  }),
  'POST /v1/preview/trainer/jobs/:id/events': trains(
    byTrainer({ events: [{ seq: 2, type: 'gradient_step', data: { loss: 1 } }] }),
    { changes: ['jobs'], harmless: 'is told apart by the numbers of the events' },
  ),
  'POST /v1/preview/trainer/jobs/:id/complete': trains(
    endsJob({ metrics: {}, checkpoint: { uri: 'file:///c' } }),
    { changes: ['jobs', 'models'], harmless: 'counts for the holder of the lease only, and once' },
  ),
  'POST /v1/preview/trainer/jobs/:id/fail': trains(
    endsJob({ error_message: 'no', retryable: false }),
    { changes: ['jobs'], harmless: 'counts for the holder of the lease only, and once' },
  ),
};
