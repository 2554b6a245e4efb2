import {
  administers,
  fresh,
  onlyProject,
  type Operation,
  reads,
  where,
  withBody,
} from '../support/operation-rows.js';

const SCHEDULE = { of: 'calls', format: 'parquet', every: 'day' };

export const exportOperations: Record<string, Operation> = {
  'POST /export': reads(withBody(() => ({ of: 'calls', format: 'jsonl' }))),
  'POST /export/schedules/set': administers(withBody(() => ({ ...SCHEDULE, name: 'all' }))),
  'POST /export/schedules/query': administers(onlyProject, {
    harmless: 'reads',
    isShowing: true,
    plant: ({ project, marker }, app) =>
      app.post('/export/schedules/set', {
        ...{ ...SCHEDULE, project_id: project, name: 'planted' },
        query: where('op_name', marker),
      }),
  }),
  'POST /export/schedules/delete': administers(async ({ project }, app) => {
    const name = fresh();
    await app.post('/export/schedules/set', { ...SCHEDULE, project_id: project, name });
    return { body: { project_id: project, name } };
  }),
};
