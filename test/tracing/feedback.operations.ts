import {
  counts,
  fresh,
  onlyProject,
  type Operation,
  reads,
  where,
  withBody,
  writes,
} from '../support/operation-rows.js';
import { type Planted, refOf } from '../support/planted.js';

const aFeedback = ({ project, callId }: Planted) => ({
  project_id: project,
  svc_ref: refOf(project, `call/${callId}`),
  feedback_type: 'custom',
  payload: { says: fresh() },
});

export const feedbackOperations: Record<string, Operation> = {
  'POST /feedback/create': writes((planted) => ({ body: aFeedback(planted) }), {
    changes: ['feedback'],
  }),
  'POST /feedback/batch/create': writes((planted) => ({ body: { batch: [aFeedback(planted)] } }), {
    elsewhere: 200,
    changes: ['feedback'],
  }),
  'POST /feedback/query': reads(onlyProject),
  'POST /feedback/aggregate': counts(
    withBody(() => ({ after_ms: 0, before_ms: 253_402_300_799_999, group_by: ['scorer_id'] })),
  ),
  'POST /feedback/payload_schema': counts(withBody(() => ({ start: '2020-01-01T00:00:00Z' }))),
  'POST /feedback/stats': counts(
    withBody(() => ({ start: '2020-01-01', end: '2030-01-01', metrics: [{ json_path: 'says' }] })),
  ),
  'POST /feedback/purge': writes(
    async (planted, app) => {
      const { id } = (await app.post('/feedback/create', aFeedback(planted))).body;
      return { body: { project_id: planted.project, query: where('id', id) } };
    },
    { changes: ['feedback'] },
  ),
  'POST /feedback/replace': writes(
    (planted) => ({
      body: { ...aFeedback(planted), feedback_id: fresh() },
    }),
    { changes: ['feedback'] },
  ),
};
