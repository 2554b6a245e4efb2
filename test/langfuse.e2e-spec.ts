import { randomUUID } from 'node:crypto';
import { basic, send, startApp, type TestApp } from './support/app.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const project_id = 'acme/demo';
const at = (second: number) => `2026-01-31T12:00:${String(second).padStart(2, '0')}.000Z`;
let events = 0;
const event = (type: string, body: object, second = 0) => ({
  id: `e${++events}`,
  timestamp: at(second),
  type,
  body,
});
const asDemo = () => ({ authorization: basic(app.key, project_id) });
const ingest = (...batch: unknown[]) =>
  send(`${app.url}/api/public/ingestion`, { batch, metadata: { sdk_name: 'x' } }, asDemo());
const read = async (id: string) => (await app.post('/call/read', { project_id, id })).body.call;
const feedbackOn = async (id: string) =>
  (await app.post('/feedback/query', { project_id })).body.result.filter(({ svc_ref: ref }: any) =>
    ref.endsWith(`/${id}`),
  );

describe('POST /api/public/ingestion', () => {
  it('makes a trace the root of its observations', async () => {
    const [trace, span, generation] = [randomUUID(), randomUUID(), randomUUID()];
    const answer = await ingest(
      event('trace-create', { id: trace, name: 'answer', sessionId: 'talk', userId: 'u', tags: ['a'], input: 'hi' }),
      event('span-create', { id: span, traceId: trace, name: 'search', startTime: at(1), endTime: at(2), input: { q: 1.5 } }),
      event('generation-create', {
        id: generation, traceId: trace, parentObservationId: span, name: 'llm', startTime: at(1), endTime: at(3),
        model: 'gpt-4o-mini', input: [{ role: 'user', content: 'hi' }], output: { role: 'assistant', content: 'ho' },
        usage: { input: 20, output: 8, total: 28, unit: 'TOKENS' }, level: 'ERROR', statusMessage: 'no network',
      }),
    ); // prettier-ignore
    expect(answer.status).toBe(207);
    expect(answer.body.errors).toEqual([]);
    expect(answer.body.successes).toHaveLength(3);
    expect(await read(trace)).toMatchObject({
      op_name: 'answer',
      trace_id: trace,
      parent_id: null,
      thread_id: 'talk',
      turn_id: trace,
      inputs: { input: 'hi' },
      attributes: { userId: 'u', tags: ['a'] },
      summary: { svc: { status: 'success' } },
    });
    expect(await read(span)).toMatchObject({
      parent_id: trace,
      inputs: { q: 1.5 },
      summary: { svc: { latency_ms: 1000 } },
    });
    expect(await read(generation)).toMatchObject({
      op_name: 'llm',
      trace_id: trace,
      parent_id: span,
      thread_id: null,
      inputs: { messages: [{ role: 'user', content: 'hi' }] },
      output: { role: 'assistant', content: 'ho' },
      exception: 'no network',
      attributes: { model: 'gpt-4o-mini', level: 'ERROR' },
      summary: {
        usage: {
          'gpt-4o-mini': { requests: 1, prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 },
        },
      },
    });
  });

  it('keeps what an update leaves out, in the same and in later requests', async () => {
    const id = randomUUID();
    const created = {
      id,
      name: 'llm',
      startTime: at(1),
      model: 'm',
      input: { big: 1 },
      metadata: { a: 1 },
    };
    await ingest(event('generation-create', created));
    expect((await read(id)).summary.svc.status).toBe('running');
    await ingest(
      event('generation-update', { id, output: 'ho', metadata: { b: 2 } }),
      event('generation-update', { id, endTime: at(4), usageDetails: { input: 3 }, input: null }),
    );
    expect(await read(id)).toMatchObject({
      op_name: 'llm',
      inputs: { big: 1 },
      output: 'ho',
      attributes: { metadata: { a: 1, b: 2 }, model: 'm' },
      summary: { usage: { m: { prompt_tokens: 3 } }, svc: { status: 'success', latency_ms: 3000 } },
    });
    await ingest(event('trace-create', { id, output: 'later' }, 9));
  });

  it('keeps documents as they are spelled', async () => {
    const id = randomUUID();
    const text = `{"batch":[{"id":"x","type":"span-create","timestamp":"${at(0)}","body":{"id":"${id}","input":{"n":12345678901234567890, "f":1.0},"metadata":{"x":1.0}}}]}`;
    expect((await send(`${app.url}/api/public/ingestion`, text, asDemo())).status).toBe(207);
    const answer = (await app.post('/call/read', { project_id, id })).text;
    expect(answer).toContain('"inputs":{"n":12345678901234567890, "f":1.0}');
    expect(answer).toContain('"metadata":{"x":1.0}');
  });

  it('refuses a bad event by itself', async () => {
    const [good, long] = [randomUUID(), 'x'.repeat(300)];
    const { status, body } = await ingest(
      null,
      { id: 'none', type: 'span-create' },
      event('dance-create', { id: 'd' }),
      event('span-create', { name: 'no id' }),
      event('span-create', { id: long }),
      event('trace-create', { id: 'nul\0' }),
      event('span-create', { id: 'b', startTime: 'soon' }),
      event('score-create', { name: 'about nothing', value: 1 }),
      event('sdk-log', { log: 'x' }),
      event('event-create', { id: good, name: 'clicked' }),
    );
    expect(status).toBe(207);
    expect(body.errors).toHaveLength(8);
    for (const error of body.errors)
      expect(error).toMatchObject({ status: 400, message: expect.stringMatching(/\w/) });
    expect(body.successes).toHaveLength(2);
    expect(await read(good)).toMatchObject({
      op_name: 'clicked',
      summary: { svc: { status: 'success' } },
    });
  });

  it('takes thousands of updates of one observation, each of which adds to it', async () => {
    const id = randomUUID();
    const value = 'v'.repeat(2500);
    const { status, body } = await ingest(
      ...Array.from({ length: 10_000 }, (_, i) =>
        event('span-update', { id, metadata: { [`k${i}`]: value } }),
      ),
    );
    expect([status, body.errors]).toEqual([207, []]);
    const { metadata } = (await read(id)).attributes;
    expect(Object.keys(metadata).length).toBe(10_000);
  });

  it('updates calls that are large together', async () => {
    const ids = [1, 2, 3].map(() => randomUUID());
    const input = 'i'.repeat(9_000_000);
    for (const id of ids) await ingest(event('span-create', { id, input }));
    await ingest(...[...ids, ...ids].map((id, i) => event('span-update', { id, name: `n${i}` })));
    for (const [i, id] of ids.entries())
      expect(await read(id)).toMatchObject({ op_name: `n${i + 3}`, inputs: { input } });
  });

  it('stores scores as feedback, and changes them by their id', async () => {
    const [trace, id] = [randomUUID(), randomUUID()];
    const score = (value: number) =>
      event('score-create', { id, traceId: trace, name: 'accuracy', value, comment: 'c' });
    expect((await ingest(event('trace-create', { id: trace }), score(0.5))).body.errors).toEqual(
      [],
    );
    expect((await ingest(score(0.75))).body.errors).toEqual([]);
    expect(await feedbackOn(trace)).toMatchObject([
      { id, feedback_type: 'accuracy', payload: { value: 0.75, comment: 'c' } },
    ]);
    const body = { observationId: 'o1', traceId: trace, name: 'label', value: 'good' };
    const answer = await send(`${app.url}/api/public/scores`, body, asDemo());
    expect(answer).toMatchObject({ status: 200, body: { id: expect.any(String) } });
    expect(await feedbackOn('o1')).toMatchObject([
      { feedback_type: 'label', payload: { value: 'good' } },
    ]);
  });

  it('attaches a score of a trace to its root, also where that came as a span', async () => {
    const [traceId, spanId] = [
      randomUUID().replaceAll('-', ''),
      randomUUID().replaceAll('-', '').slice(16),
    ];
    const span = { traceId, spanId, name: 'root', startTimeUnixNano: '1767225600000000000' };
    const request = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
    await send(`${app.url}/api/public/otel/v1/traces`, request, asDemo());
    await ingest(event('score-create', { traceId, name: 'accuracy', value: 1 }));
    expect(await feedbackOn(spanId)).toHaveLength(1);
  });

  it('takes scores in lists, and refuses a bad one by itself', async () => {
    const trace = randomUUID();
    const score = (name: unknown) => ({ traceId: trace, name, value: 1 });
    const post = (body: any) => send(`${app.url}/api/public/scores`, body, asDemo());
    expect(await post([score('a'), score('b')])).toMatchObject({ status: 202 });
    expect(await post([score('c'), score(5), 5])).toMatchObject({
      status: 207,
      body: { accepted: 1, rejected: 2, errors: [{ message: expect.any(String) }, {}] },
    });
    expect((await feedbackOn(trace)).map((row: any) => row.feedback_type)).toEqual(['a', 'b', 'c']);
    expect((await post(Array.from({ length: 1001 }, () => score('a')))).status).toBe(413);
    expect([(await post(score(''))).status, (await post('5')).status]).toEqual([400, 400]);
  });

  it('takes concurrent updates of one observation', async () => {
    const id = randomUUID();
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(
      names.map((name) => ingest(event('span-update', { id, metadata: { [name]: 1 } }))),
    );
    expect((await read(id)).attributes.metadata).toEqual({ a: 1, b: 1, c: 1, d: 1 });
  });

  it('refuses too many events, and keys without a project', async () => {
    const many = Array.from({ length: 10_001 }, () => 0);
    expect((await ingest(...many)).status).toBe(413);
    const as = (user: string, key: string) =>
      send(`${app.url}/api/public/ingestion`, { batch: [] }, { authorization: basic(key, user) });
    expect((await as('pk-lf-1', app.key)).body.errors[0].path).toBe('project_id');
    const key = await app.aKey('writer', ['acme/other']);
    expect((await as(project_id, key)).status).toBe(403);
    expect((await as('pk-lf-1', key)).status).toBe(207);
  });
});

it('answers what SDKs ask at start', async () => {
  const projects = await fetch(`${app.url}/api/public/projects`, { headers: asDemo() });
  expect(await projects.json()).toMatchObject({ data: [{ id: project_id, name: 'demo' }] });
  const health = await fetch(`${app.url}/api/public/health`);
  expect(await health.json()).toMatchObject({ status: 'OK' });
});
