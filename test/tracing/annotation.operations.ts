import type { TestApp } from '../support/app.js';
import {
  type Build,
  counts,
  fresh,
  onlyProject,
  type Operation,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import type { Planted } from '../support/planted.js';

/** Makes a queue with the marker in its name and the planted call in it. */
async function aQueue({ project, marker }: Pick<Planted, 'project' | 'marker'>, app: TestApp) {
  const made = { project_id: project, name: `${fresh()} ${marker}`, scorer_refs: [] };
  const { id } = (await app.post('/annotation_queues', made)).body;
  const added = { project_id: project, call_ids: ['call'], display_fields: [marker] };
  await app.post(`/annotation_queues/${id}/items`, added);
  const found = await app.post(`/annotation_queues/${id}/items/query`, { project_id: project });
  return { queue_id: id as string, item_id: found.body.items[0].id as string };
}

/** A request about a new queue. */
const ofQueue =
  (body: object): Build =>
  async (planted, app) => ({
    params: await aQueue(planted, app),
    body: { project_id: planted.project, ...body },
  });

const readQueue: Build = async (planted, app) => ({
  params: await aQueue(planted, app),
  query: `?project_id=${planted.project}`,
});

export const annotationOperations: Record<string, Operation> = {
  'POST /annotation_queues': writes(
    withBody(() => ({ name: fresh(), scorer_refs: [] })),
    {
      changes: ['annotation'],
    },
  ),
  'POST /annotation_queues/query': {
    ...reads(onlyProject),
    plant: async (planted, app) => {
      const params = await aQueue(planted, app);
      const route = `/annotation_queues/${params.queue_id}/items/next`;
      await app.post(route, { project_id: planted.project });
    },
  },
  'POST /annotation_queues/stats': counts(withBody(() => ({ queue_ids: ['q'] }))),
  'GET /annotation_queues/:queue_id': reads(readQueue),
  'PUT /annotation_queues/:queue_id': writes(ofQueue({ description: 'd' }), {
    changes: ['annotation'],
  }),
  'DELETE /annotation_queues/:queue_id': writes(readQueue, { changes: ['annotation'] }),
  'POST /annotation_queues/:queue_id/items': writes(
    ofQueue({ call_ids: ['call'], display_fields: [] }),
    { changes: ['annotation'] },
  ),
  'POST /annotation_queues/:queue_id/items/query': reads(ofQueue({})),
  'POST /annotation_queues/:queue_id/items/next': writes(ofQueue({}), { changes: ['annotation'] }),
  'POST /annotation_queues/:queue_id/items/:item_id/progress': writes(
    ofQueue({ annotation_state: 'completed' }),
    { changes: ['annotation'] },
  ),
};
