import { useApp } from '../../support/app.js';
import { aFileForm } from '../../support/planted.js';
import { agentSpan, aTurn, exportOf, spanId } from '../../support/agents.js';
import { aStart } from '../../support/factories.js';

const app = useApp();
const project_id = 'acme/demo';

it('/project/ttl_settings is the retention of calls, and leaves that of payloads alone', async () => {
  await app.post('/retention/set', { project_id, calls_days: 90, payload_days: 30 });
  const read = async () => (await app.post('/project/ttl_settings/read', { project_id })).body;
  expect(await read()).toEqual({ retention_days: 90 });
  const update = (retention_days: unknown) =>
    app.post('/project/ttl_settings/update', { project_id, retention_days });
  expect((await update(7)).body).toEqual({ retention_days: 7 });
  expect((await app.post('/retention/read', { project_id })).body).toMatchObject({
    calls_days: 7,
    payload_days: 30,
  });
  expect((await update(0)).status).toBe(400);
  expect((await update(null)).body).toEqual({ retention_days: null });
  expect(await read()).toEqual({ retention_days: null });
});

it('/files/query_stats adds up files', async () => {
  const sizes = async (project: string) =>
    (await app.post('/files/query_stats', { project_id: project })).body;
  const headers = { authorization: `Basic ${btoa(`x:${app.key}`)}` };
  await fetch(`${app.url}/file/create`, {
    method: 'POST',
    body: aFileForm('acme/files', '12345'),
    headers,
  });
  expect(await sizes('acme/files')).toEqual({ total_size_bytes: 5 });
  expect(await sizes('acme/none')).toEqual({ total_size_bytes: 0 });
});

it('/service/projects_info tells of projects that the key reaches and that hold something', async () => {
  for (const project of ['acme/a', 'acme/b', 'other/c'])
    await app.post('/call/start', { start: aStart({ project_id: project }) });
  const key = await app.aKey('reader', ['acme/*']);
  const project_ids = ['other/c', 'acme/b', 'acme/none', 'acme/a', 'acme/b', 'nonsense'];
  const { status, body } = await app.post('/service/projects_info', { project_ids }, { key });
  expect([status, body]).toEqual([
    200,
    ['acme/b', 'acme/a'].map((id) => ({ external_project_id: id, internal_project_id: id })),
  ]);
});

it('counts the usage of an agent in the call in which it ran, once', async () => {
  const op = (id: string, more: object = {}) =>
    app.post('/call/start', { start: aStart({ id, trace_id: 'op', ...more }) });
  await op('outer');
  await op('inner', { parent_id: 'outer' });
  const linked = { 'weave.parent_call.id': 'inner', 'weave.parent_call.trace_id': 'op' };
  const spans = aTurn({ trace: 7, id: 71, conversation: 'talk' }).map((span) =>
    agentSpan({ ...span, attributes: { ...span.attributes, ...linked } }),
  );
  await app.post('/agents/otel/v1/traces', exportOf(spans), { headers: { project_id } });
  const tokens = ({ body }: any, id: string) => body.call_usage[id]?.['gpt-4o-mini']?.total_tokens;
  const calls = await app.post('/calls/usage', {
    project_id,
    call_ids: ['outer', 'inner', spanId(71)],
  });
  expect(['outer', 'inner', spanId(71)].map((id) => tokens(calls, id))).toEqual([275, 275, 275]);
  const trace = await app.post('/trace/usage', { project_id, filter: { trace_ids: ['op'] } });
  expect(Object.keys(trace.body.call_usage).toSorted()).toEqual(['inner', 'outer']);
  expect(tokens(trace, 'outer')).toBe(275);
  const all = await app.post('/trace/usage', { project_id });
  expect(tokens(all, 'outer')).toBe(275);
});
