import { useApp } from '../support/app.js';
import { agentSpan, aTurn, exportOf, traceId } from '../support/agents.js';
import { anEnd, aStart } from '../support/factories.js';

const app = useApp();
const project_id = 'acme/demo';

const call = async (id: string, fields: object, end: object = {}) => {
  expect((await app.post('/call/start', { start: aStart({ id, ...fields }) })).status).toBe(200);
  expect((await app.post('/call/end', { end: anEnd({ id, ...end }) })).status).toBe(200);
};
const usage = (prompt_tokens: number, completion_tokens: number, model = 'gpt-4o-mini') => ({
  summary: { usage: { [model]: { prompt_tokens, completion_tokens, requests: 1 } } },
});
const list = async (more: object = {}) => {
  const { body } = await app.post('/calls/query', {
    ...{ project_id, limit: 100, include_trace_totals: true, include_costs: true },
    ...more,
  });
  return new Map<string, any>(body.calls.map((one: any) => [one.id, one.summary.svc]));
};

it('a list shows what the traces of its roots cost, where the roots say nothing', async () => {
  await call('root', { trace_id: 't', attributes: { session: 1 } });
  await call(
    'model',
    { trace_id: 't', parent_id: 'root', attributes: { 'user.id': 'mia' } },
    usage(100, 10),
  );
  await call('chain', { trace_id: 't', parent_id: 'root' }, usage(50, 5));
  await call(
    'same',
    { trace_id: 't', parent_id: 'chain', attributes: { 'user.id': 'leo' } },
    usage(50, 5),
  );
  await call('telling', { trace_id: 'u', attributes: { user_id: 'ben' } }, usage(7, 1));
  await call('silent', { trace_id: 'v' });
  const rows = await list();
  const tokens = Object.entries<any>(rows.get('root').trace_costs).map(([name, cost]) => [
    ...[name, cost.prompt_tokens, cost.completion_tokens, cost.total_cost],
  ]);
  expect(tokens).toEqual([['gpt-4o-mini', 150, 15, (150 * 0.15 + 15 * 0.6) / 1e6]]);
  expect(rows.get('root')).toMatchObject({ costs: {}, trace_user: 'mia' });
  expect(rows.get('telling')).toMatchObject({ trace_costs: {}, trace_user: 'ben' });
  expect(rows.get('telling').costs['gpt-4o-mini'].prompt_tokens).toBe(7);
  expect(rows.get('silent')).toMatchObject({ trace_costs: {}, trace_user: null });
  expect(rows.get('model')).toMatchObject({ trace_costs: {}, trace_user: null });
  const [plain] = [...(await list({ include_trace_totals: false })).values()];
  expect(plain).not.toHaveProperty('trace_costs');
});

it('each root of a trace with several shows what it does not tell itself', async () => {
  await call('first', { trace_id: 'many', attributes: { user_id: 'ann' } });
  await call('second', { trace_id: 'many' });
  await call('third', { trace_id: 'many' }, usage(3, 1));
  const rows = await list({ filter: { trace_ids: ['many'] } });
  const tokens = ['first', 'second', 'third'].map((id) => {
    const { trace_costs, trace_user } = rows.get(id);
    return [trace_costs['gpt-4o-mini']?.prompt_tokens, trace_user];
  });
  expect(tokens).toEqual([
    [3, 'ann'],
    [3, 'ann'],
    [undefined, 'ann'],
  ]);
});

it('agents that ran in a trace count in it', async () => {
  await call('op', { trace_id: 'w' });
  const spans = aTurn({ trace: 7, id: 71, conversation: 'talk' }).map((span) =>
    agentSpan({ ...span, attributes: { ...span.attributes, 'weave.parent_call.id': 'op' } }),
  );
  await app.post('/agents/otel/v1/traces', exportOf(spans), { headers: { project_id } });
  const rows = await list({ filter: { trace_ids: ['w', traceId(7)], trace_roots_only: true } });
  const costs = [...rows.values()].map(({ trace_costs }) => trace_costs['gpt-4o-mini']);
  expect(
    costs.map((cost) => [cost.prompt_tokens, cost.cache_read_input_tokens, cost.completion_tokens]),
  ).toEqual([
    [240, 10, 25],
    [240, 10, 25],
  ]);
});

it('refuses to add up more than a page', async () => {
  for (const limit of [undefined, null, 1001])
    expect(
      await app.post('/calls/query', { project_id, limit, include_trace_totals: true }),
    ).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'include_trace_totals' }] },
    });
});
