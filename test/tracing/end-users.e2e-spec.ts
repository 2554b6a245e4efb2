import { basic, send, useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { at } from '../support/factories.js';

const app = useApp();
const calls = useCalls(app);

const CHAT = { model: 'gpt-4o', messages: [] };
/** Documents that name an end user, with the expected name. */
const NAMED: [string, object, string | null][] = [
  ['OpenTelemetry', { attributes: { 'user.id': 'ada' } }, 'ada'],
  ['older OpenTelemetry', { attributes: { 'enduser.id': 'ada' } }, 'ada'],
  ['Langfuse', { attributes: { 'langfuse.user.id': 'ada' } }, 'ada'],
  ['events of Langfuse', { attributes: { userId: 'ada' } }, 'ada'],
  ['Traceloop', { attributes: { 'traceloop.association.properties.user_id': 'ada' } }, 'ada'],
  [
    'Traceloop, a customer',
    { attributes: { 'traceloop.association.properties.customer_id': 'ada' } },
    'ada',
  ],
  ['Vercel', { attributes: { 'ai.telemetry.metadata.userId': 'ada' } }, 'ada'],
  ['LangSmith', { attributes: { 'langsmith.metadata.user_id': 'ada' } }, 'ada'],
  ['LangSmith, an object', { attributes: { metadata: { user_id: 'ada' } } }, 'ada'],
  ['LiteLLM', { attributes: { 'metadata.user_api_key_end_user_id': 'ada' } }, 'ada'],
  ['LiteLLM, an object', { attributes: { metadata: { user_api_key_end_user_id: 'ada' } } }, 'ada'],
  ['an object', { attributes: { user: { id: 'ada' } } }, 'ada'],
  ['OpenAI', { inputs: { ...CHAT, user: 'ada' } }, 'ada'],
  ['OpenAI, newer', { inputs: { ...CHAT, safety_identifier: 'ada' } }, 'ada'],
  ['Anthropic', { inputs: { ...CHAT, metadata: { user_id: 'ada' } } }, 'ada'],
  ['Vercel, newer', { attributes: { 'ai.settings.context.userId': 'ada' } }, 'ada'],
  ['Mastra', { attributes: { 'mastra.metadata.userId': 'ada' } }, 'ada'],
  ['MLflow', { attributes: { 'mlflow.trace.user': '"ada"' } }, 'ada'],
  ['Laminar', { attributes: { 'lmnr.association.properties.user_id': 'ada' } }, 'ada'],
  ['metadata as JSON', { attributes: { metadata: '{"n":1,"user_id":"ada"}' } }, 'ada'],
  ['metadata as Python prints them', { attributes: { metadata: "{'userId': 'ada'}" } }, 'ada'],
  ['metadata with a number', { attributes: { metadata: '{"user_id": 42}' } }, '42'],
  ['metadata without', { attributes: { metadata: '{"user_id": null, "x": "user_id"}' } }, null],
  ['a blank', { attributes: { 'user.id': '  ', 'enduser.id': 'ada' } }, 'ada'],
  ['what stands for none', { attributes: { 'user.id': 'null', user_id: 'None' } }, null],
  ['a number', { attributes: { 'user.id': 42 } }, '42'],
  ['half a pair', { attributes: { 'user.id': 'x\ud800' } }, 'x\ufffd'],
  ['the first of several', { attributes: { userId: 'bob', 'user.id': 'ada' } }, 'ada'],
  ['an empty one', { attributes: { 'user.id': '', user_id: 'ada' } }, 'ada'],
  ['an op with a user', { inputs: { user: 'what is this?' } }, null],
  ['a user that is no text', { attributes: { 'user.id': { a: 1 } } }, null],
  ['null', { attributes: { 'user.id': null, metadata: null, user: 'x' } }, null],
];

const groups = async (name: string, more: object = {}) => {
  const { status, body } = await app.post('/calls/stats', {
    project_id: calls.project_id,
    start: at(0),
    end: at(3600),
    granularity: 3600,
    call_metrics: [{ metric: 'call_count' }],
    usage_metrics: [{ metric: 'input_tokens' }],
    group_by: [name],
    ...more,
  });
  expect([status, body]).toEqual([200, expect.anything()]);
  const tokens = new Map(
    body.usage_buckets.map((bucket: any) => [bucket[name], bucket.sum_input_tokens]),
  );
  return Object.fromEntries(
    body.call_buckets.map((bucket: any) => [
      String(bucket[name]),
      [bucket.count, tokens.get(bucket[name]) ?? null],
    ]),
  );
};
const is = (user: string | null) => ({
  query: { $expr: { $eq: [{ $getField: 'summary.svc.end_user' }, { $literal: user }] } },
});

it.each(NAMED)('a call names its user as %s does', async (_, documents, user) => {
  await calls.start({ id: 'a', started_at: at(1), ...documents });
  await calls.start({ id: 'other', started_at: at(2), attributes: { 'user.id': 'somebody' } });
  expect(await calls.idsOf(is(user))).toEqual(['a']);
  expect(await groups('end_user')).toEqual({ [String(user)]: [1, null], somebody: [1, null] });
  const { body } = await app.post('/calls/query', {
    project_id: calls.project_id,
    filter: { call_ids: ['a'] },
    include_trace_totals: true,
    limit: 1,
  });
  expect(body).toMatchObject({ calls: [{ id: 'a' }] });
  const roots = body.calls;
  expect(roots[0].summary.svc.trace_user).toBe(user);
});

it.each([
  'user.id',
  'enduser.id',
  'langfuse.user.id',
  'langfuse.trace.user_id',
  'traceloop.association.properties.user_id',
  'traceloop.association.properties.customer_id',
])('a span and its children are found by the user that it names as %s', async (key) => {
  const span = (spanId: string, parentSpanId: string, attributes: object[]) => ({
    ...{ traceId: 'ab'.repeat(16), spanId: spanId.repeat(16), parentSpanId, name: 'work' },
    ...{ startTimeUnixNano: '1769860800000000000', endTimeUnixNano: '1769860801000000000' },
    attributes,
  });
  const named = (stringValue: string) => [{ key, value: { stringValue } }];
  const spans = [
    span('c', 'b'.repeat(16), []), // arrives before its ancestors
    span('a', '', named('ada "the first"')),
    span('b', 'a'.repeat(16), []),
    span('d', '', named('bob')),
  ];
  const { project_id } = calls;
  const body = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
  const answer = await app.post('/v1/traces', body, { headers: { project_id } });
  expect(answer.text).toBe('{}');
  expect((await calls.idsOf(is('ada "the first"'))).toSorted()).toEqual(
    ['a', 'b', 'c'].map((id) => id.repeat(16)),
  );
});

it('events of Langfuse are found by the user of their trace', async () => {
  const { project_id } = calls;
  const event = (type: string, body: object) => ({
    ...{ id: JSON.stringify(body), timestamp: at(1), type },
    body: { ...body, startTime: at(1), timestamp: at(1) },
  });
  const batch = [
    event('span-create', { id: 's', traceId: 't', name: 'work' }),
    event('generation-create', { id: 'g', traceId: 't', parentObservationId: 's', model: 'm' }),
    event('trace-create', { id: 't', name: 'chat', userId: 'ada' }),
    event('trace-create', { id: 'other', name: 'chat', userId: 'bob' }),
  ];
  const answer = await send(
    `${app.url}/api/public/ingestion`,
    { batch },
    { authorization: basic(app.key, project_id) },
  );
  expect(answer.body.errors).toEqual([]);
  expect((await calls.idsOf(is('ada'))).toSorted()).toEqual(['g', 's', 't']);
});

it('a call below another has its user, unless it names one itself', async () => {
  const call = (id: string, parent_id: string | null, user?: string) =>
    calls.start({
      ...{ id, parent_id, trace_id: 't', started_at: at(id.charCodeAt(0) - 96) },
      ...(user && { attributes: { 'user.id': user } }),
    });
  await call('c', 'b'); // arrives before its ancestors
  await call('a', null, 'ada');
  await call('b', 'a');
  await call('d', 'a', 'bob');
  await call('e', 'd');
  for (const [id, n] of [
    ['c', 10],
    ['e', 200],
  ] as const)
    await calls.end({
      id,
      ended_at: at(10),
      summary: { usage: { 'gpt-4o': { prompt_tokens: n, completion_tokens: 0, requests: 1 } } },
    });
  expect(await groups('end_user')).toEqual({ ada: [3, 10], bob: [2, 200] });
  expect(await calls.idsOf(is('ada'))).toEqual(['a', 'b', 'c']);
  expect(Object.keys(await groups('svc_user_id'))).toHaveLength(1);
  // a cycle of parents does not run forever
  await calls.start({ id: 'x', parent_id: 'y', trace_id: 'u', started_at: at(20) });
  await calls.start({ id: 'y', parent_id: 'x', trace_id: 'u', started_at: at(21) });
  expect(await calls.idsOf(is(null))).toEqual(['x', 'y']);
});
