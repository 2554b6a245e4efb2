import { indexDefinition } from '../../src/tracing/calls/indexes/call-indexes.query.js';
import type { TestApp } from '../support/app.js';
import { anEnd, aStart } from '../support/factories.js';
import {
  administers,
  counts,
  fresh,
  onlyProject,
  type Operation,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import type { Planted } from '../support/planted.js';

export const newStart = ({ project }: Planted) => ({ start: aStart({ project_id: project }) });
const aCall = async (planted: Planted, app: TestApp): Promise<string> =>
  (await app.post('/call/start', newStart(planted))).body.id;
export const newEnd = async (planted: Planted, app: TestApp) => ({
  end: anEnd({ project_id: planted.project, id: await aCall(planted, app) }),
});

const queryCalls = withBody(() => ({ include_costs: true, include_feedback: true }));

export const callsOperations: Record<string, Operation> = {
  'POST /index/create': administers(withBody(() => ({ field: 'inputs.marker' }))),
  'POST /index/list': administers(onlyProject, { harmless: 'reads' }),
  'POST /index/delete': administers(async ({ project }, app) => {
    const { name, field } = indexDefinition(project, `inputs.${fresh()}`, 'text');
    // inserted by SQL, because a project may not have so many
    await app.query(
      `INSERT INTO call_indexes (project_id, name, field, kind) VALUES ($1, $2, $3, 'text')`,
      [project, name, field],
    );
    return { body: { project_id: project, field } };
  }),
  'POST /calls/purge': administers(
    async (planted, app) => ({
      body: { project_id: planted.project, call_ids: [await aCall(planted, app)] },
    }),
    { changes: ['calls', 'feedback'] },
  ),

  'POST /call/start': writes((planted) => ({ body: newStart(planted) }), { changes: ['calls'] }),
  'POST /call/end': writes(async (planted, app) => ({ body: await newEnd(planted, app) }), {
    changes: ['calls'],
    harmless: 'is an upsert by the id of the call',
  }),
  // each item is refused separately: see access-nested.e2e-spec.ts
  'POST /call/upsert_batch': writes(
    ({ project, callId }) => {
      const start = aStart({ project_id: project, parent_id: callId });
      return { body: { batch: [{ mode: 'start', req: { start } }] } };
    },
    { elsewhere: 200, changes: ['calls'] },
  ),
  'POST /call/read': reads(withBody(({ callId }) => ({ id: callId, include_costs: true }))),
  'POST /call/update': writes(
    withBody(({ callId }) => ({ call_id: callId, display_name: fresh() })),
    { changes: ['calls'] },
  ),
  'POST /calls/stream_query': reads(queryCalls),
  'POST /calls/query': reads(queryCalls),
  'POST /calls/matches': reads(
    withBody(({ callId }) => ({ call_ids: [callId], text: '{"marker":"' })),
  ),
  'POST /calls/query_stats': counts(onlyProject),
  'POST /calls/stats': reads(
    withBody(() => ({
      start: '2020-01-01',
      end: '2030-01-01',
      call_metrics: [{ metric: 'call_count' }],
      usage_metrics: [{ metric: 'total_cost' }],
      group_by: ['op_name'],
    })),
  ),
  'POST /calls/usage': reads(
    withBody(({ callId }) => ({ call_ids: [callId], include_costs: true })),
  ),
  'POST /trace/usage': reads(
    withBody(({ traceId }) => ({ filter: { trace_ids: [traceId] }, include_costs: true })),
  ),
  'POST /calls/delete': writes(
    async (planted, app) => ({
      body: { project_id: planted.project, call_ids: [await aCall(planted, app)] },
    }),
    { changes: ['calls'] },
  ),
};
