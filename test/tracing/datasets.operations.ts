import type { TestApp } from '../support/app.js';
import {
  fresh,
  onlyProject,
  type Operation,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import { type Planted, refOf } from '../support/planted.js';

/** Makes a dataset with a row for each planted call. */
async function aDataset({ project, marker }: Pick<Planted, 'project' | 'marker'>, app: TestApp) {
  const columns = { marker: 'inputs.marker', call: 'id' };
  const filter = { trace_ids: [`trace.${marker}`] };
  const body = { project_id: project, object_id: `dataset-${fresh()}`, filter, columns };
  return (await app.post('/datasets/add_from_calls', body)).body.object_id as string;
}

const aFile = (query: Record<string, string>) => ({
  query: `?${new URLSearchParams(query).toString()}`,
  headers: { 'content-type': 'text/csv' },
  body: Buffer.from(`n\n${fresh()}\n`),
});

export const datasetsOperations: Record<string, Operation> = {
  'POST /datasets/add_from_calls': writes(
    withBody(({ callId }) => ({
      object_id: `dataset-${fresh()}`,
      call_ids: [callId],
      columns: { marker: 'inputs.marker' },
    })),
    { changes: ['objects'] },
  ),
  'POST /datasets/import': writes(
    ({ project }) => aFile({ project_id: project, object_id: `dataset-${fresh()}` }),
    { changes: ['objects'] },
  ),
  'POST /datasets/import/preview': writes(({ project }) => aFile({ project_id: project }), {
    harmless: 'stores nothing',
  }),
  'POST /datasets/remove_rows': writes(
    async (planted, app) => ({
      body: {
        project_id: planted.project,
        object_id: await aDataset(planted, app),
        row_digests: [],
      },
    }),
    { changes: ['objects'] },
  ),
  'POST /datasets/split': writes(
    async ({ project }, app) => {
      const rows = Array.from({ length: 50 }, (_, n) => ({ n }));
      const table = await app.post('/table/create', { table: { project_id: project, rows } });
      const ref = refOf(project, `table/${table.body.digest}`);
      const val = { _class_name: 'Dataset', rows: ref };
      await app.post('/obj/create', { obj: { project_id: project, object_id: 'numbers', val } });
      const parts = [fresh(), fresh()].map((object_id) => ({ object_id, fraction: 0.5 }));
      return { body: { project_id: project, object_id: 'numbers', parts } };
    },
    { changes: ['objects'] },
  ),
  'POST /datasets/lineage': {
    ...reads(onlyProject),
    plant: async (planted, app) => aDataset(planted, app),
  },
};
