import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImportFormat, importFile } from '../../src/doors/import/import.js';
import { TargetService } from '../../src/doors/import/target-service.js';
import { basic, linesOf, send, useApp } from '../support/app.js';
import { aFolder, startServer, watched } from '../support/server.js';

const app = useApp();

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

describe('an experiment', () => {
  const sourceOf = async (...ids: string[]) => {
    const body = { project_id, filter: { call_ids: ids }, columns: ['source'] };
    const rows = linesOf(await app.post('/calls/stream_query', body));
    return ids.map((id) => rows.find((row) => row.id === id)?.source);
  };

  it('is an evaluation by its environment, and no other environment is', async () => {
    const [tried, below, served] = [randomUUID(), randomUUID(), randomUUID()];
    await ingest(event('span-create', { id: below, traceId: tried, name: 'answer' }));
    await ingest(
      event('trace-create', { id: tried, name: 'item', environment: 'sdk-experiment' }),
      event('trace-create', { id: served, name: 'serve', environment: 'experiments' }),
    );
    expect(await sourceOf(tried, below, served)).toEqual([
      'evaluation',
      'evaluation',
      'production',
    ]);
  });

  it('is an evaluation by the attributes of its spans', async () => {
    const span = (spanId: string, more: object) => ({
      ...{ traceId: '7'.repeat(32), spanId, name: 'step', attributes: [] },
      ...{ startTimeUnixNano: '1767225600000000000', endTimeUnixNano: '1767225601000000000' },
      ...more,
    });
    const experiment = { key: 'langfuse.experiment.id', value: { stringValue: 'x1' } };
    const spans = [
      span('7'.repeat(16), { attributes: [experiment] }),
      span('8'.repeat(16), { parentSpanId: '7'.repeat(16) }),
      span('9'.repeat(16), { traceId: '9'.repeat(32) }),
    ];
    const body = { resourceSpans: [{ resource: {}, scopeSpans: [{ spans }] }] };
    const answer = await send(`${app.url}/api/public/otel/v1/traces`, body, asDemo());
    expect(answer.status).toBe(200);
    expect(await sourceOf('7'.repeat(16), '8'.repeat(16), '9'.repeat(16))).toEqual([
      'evaluation',
      'evaluation',
      'production',
    ]);
  });
});

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

  it('makes the same call of requests that overtake each other', async () => {
    const begins = (id: string) =>
      event('generation-create', { id, traceId: 't', name: 'llm', model: 'm', startTime: at(1) });
    const ends = (id: string) =>
      event('generation-update', { id, endTime: at(2), output: 'o', usage: { input: 3 } });
    for (const batch of [
      [begins('in order'), ends('in order')],
      [ends('overtaken'), begins('overtaken')],
    ])
      for (const one of batch) expect((await ingest(one)).body.errors).toEqual([]);
    const { id: _, ...inOrder } = await read('in order');
    expect(inOrder.summary.usage).toEqual({ m: { requests: 1, prompt_tokens: 3 } });
    expect(await read('overtaken')).toEqual({ id: 'overtaken', ...inOrder });
  });

  it.each(['0000000000000000', '  ', 'itself'])(
    'puts an observation whose parent is %j below its trace',
    async (none) => {
      const [trace, id] = [randomUUID(), randomUUID()];
      const parentObservationId = none === 'itself' ? id : none;
      await ingest(event('span-create', { id, traceId: trace, parentObservationId }));
      await ingest(event('trace-create', { id: trace }));
      expect((await read(id)).parent_id).toBe(trace);
    },
  );

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

  it('takes an empty member of a score for an absent one', async () => {
    const trace = randomUUID();
    const score = { name: 'a', value: 1, observationId: '', traceId: trace };
    expect((await send(`${app.url}/api/public/scores`, score, asDemo())).status).toBe(200);
    expect(await feedbackOn(trace)).toHaveLength(1);
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

describe('timestamps of events', () => {
  /** All orders in which the batches may arrive. */
  const ordersOf = <T>(batches: T[]): T[][] =>
    batches.length < 2
      ? [batches]
      : batches.flatMap((one, i) =>
          ordersOf(batches.toSpliced(i, 1)).map((rest) => [one, ...rest]),
        );
  const post = async (...batch: unknown[]) => {
    const { status, body } = await ingest(...batch);
    expect([status, body.errors]).toEqual([207, []]);
  };

  it('makes the same call of batches in any order, also when they are sent again', async () => {
    const traceId = randomUUID();
    const batchesOf = (id: string) => [
      [
        event('generation-create', { id, traceId, name: 'llm', startTime: at(1), model: 'm1', input: 'hi', metadata: { a: 1, b: 1 }, usage: { input: 3 } }, 1),
        event('generation-update', { id, output: 'first', metadata: { b: 2 }, endTime: at(4) }, 2),
      ],
      [event('generation-update', { id, output: 'second', level: 'ERROR', statusMessage: 'no network', metadata: { b: 3, c: 3 } }, 3)],
      [event('generation-update', { id, name: 'llm 2', model: 'm2', level: 'DEFAULT', endTime: at(6), startTime: at(5) }, 4)],
    ]; // prettier-ignore
    for (const [i, order] of ordersOf([0, 1, 2]).entries()) {
      const id = `any order ${i}`;
      const batches = batchesOf(id);
      for (const n of order) await post(...batches[n]!);
      for (const n of [0, 2, 1]) {
        const { summary, ...call } = await read(id);
        expect(call).toMatchObject({
          op_name: 'llm 2',
          started_at: '2026-01-31T12:00:01.000000Z',
          ended_at: '2026-01-31T12:00:06.000000Z',
          inputs: { input: 'hi' },
          output: 'second',
          exception: null,
          attributes: { model: 'm2', level: 'DEFAULT', metadata: { a: 1, b: 3, c: 3 } },
        });
        expect(summary.usage).toEqual({ m2: { requests: 1, prompt_tokens: 3 } });
        await post(...batches[n]!);
      }
    }
  });

  it('keeps the newer values of a trace when an older event comes later', async () => {
    const id = randomUUID();
    await post(event('trace-create', { id, name: 'new', userId: 'u2', tags: ['b'] }, 20));
    await post(
      event('trace-create', { id, name: 'old', userId: 'u1', sessionId: 'talk', input: 'hi' }, 10),
    );
    expect(await read(id)).toMatchObject({
      op_name: 'new',
      thread_id: 'talk',
      inputs: { input: 'hi' },
      attributes: { userId: 'u2', tags: ['b'] },
    });
  });

  it('takes an update that comes before its create, and one of the same millisecond after it', async () => {
    const id = randomUUID();
    await post(event('span-update', { id, output: 'done', name: 'updated' }, 5));
    await post(event('span-create', { id, output: 'begun', name: 'created', input: 1 }, 5));
    expect(await read(id)).toMatchObject({
      op_name: 'updated',
      output: 'done',
      inputs: { input: 1 },
      started_at: '2026-01-31T12:00:05.000000Z',
    });
  });

  it('compares microseconds and offsets', async () => {
    const id = randomUUID();
    const named = (name: string, timestamp: string) => ({
      ...event('span-create', { id, name }),
      timestamp,
    });
    await post(named('later', '2026-01-31T14:00:00.000002+02:00'));
    await post(named('earlier', '2026-01-31T12:00:00.000001Z'));
    expect((await read(id)).op_name).toBe('later');
  });

  it('refuses a timestamp that is none, and does not let one of the far future win for years', async () => {
    const id = randomUUID();
    const named = (name: string, timestamp: unknown) => ({
      ...event('span-create', { id, name }),
      timestamp,
    });
    const { body } = await ingest(
      named('a', 'soon'),
      named('b', 5),
      named('c', '2026-02-30T00:00:00Z'),
    );
    expect(body.errors.map(({ message }: any) => message)).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(/^timestamp must be an ISO 8601/)),
    );
    await post(named('of the future', '2999-01-31T12:00:00.000Z'));
    expect((await read(id)).op_name).toBe('of the future');
    await post(named('of now', new Date().toISOString()));
    await post(named('of the future', '2999-01-31T12:00:00.000Z'));
    expect((await read(id)).op_name).toBe('of now');
    const { body: ends } = await ingest(event('span-update', { id, endTime: 'soon' }));
    expect(ends.errors[0].message).toMatch(/^ended_at must be an ISO 8601/);
  });

  it('is exact when two processes store at the same time', async () => {
    const other = await startServer({ DATABASE_URL: app.databaseUrl });
    try {
      const id = randomUUID();
      const send1 = (url: string, second: number) =>
        send(
          `${url}/api/public/ingestion`,
          { batch: [event('span-update', { id, name: `n${second}`, metadata: { [`k${second}`]: second } }, second)] },
          asDemo(),
        ); // prettier-ignore
      const seconds = [7, 3, 9, 1, 8, 2, 6, 4, 5];
      await Promise.all(seconds.map((second, i) => send1([app.url, other.url][i % 2]!, second)));
      expect(await read(id)).toMatchObject({
        op_name: 'n9',
        attributes: {
          metadata: Object.fromEntries(seconds.map((second) => [`k${second}`, second])),
        },
      });
    } finally {
      await other.stop();
    }
  });
});

describe('scores', () => {
  const post = async (body: unknown) => send(`${app.url}/api/public/scores`, body, asDemo());
  const stored = async (id: string) => {
    const asked = {
      project_id,
      query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } },
    };
    const { result } = (await app.post('/feedback/query', asked)).body;
    return result.map(({ svc_ref, feedback_type, payload }: any) => [
      svc_ref,
      feedback_type,
      payload,
    ]);
  };

  it('keep the newer values, member by member, whatever arrives last', async () => {
    const [id, traceId] = [randomUUID(), randomUUID()];
    const ref = `svc:///${project_id}/call/${traceId}`;
    const score = (second: number, more: object) =>
      event('score-create', { id, traceId, name: 'accuracy', ...more }, second);
    const first = [score(1, { value: 0.1, comment: 'first' })];
    const second = [score(5, { value: 0.5, comment: null })];
    const late = [score(3, { value: 0.3, name: 'older name', metadata: { late: true } })];
    for (const batch of [second, first, late, first, late])
      expect((await ingest(...batch)).body.errors).toEqual([]);
    expect(await stored(id)).toEqual([
      [ref, 'accuracy', { value: 0.5, comment: 'first', metadata: { late: true } }],
    ]);
    const { body } = await app.post('/feedback/query', {
      project_id,
      query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } },
    });
    await ingest(...second, ...first);
    const again = await app.post('/feedback/query', {
      project_id,
      query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } },
    });
    expect(again.body).toEqual(body);
    expect((await post({ id, traceId, name: 'accuracy', value: 0.9 })).status).toBe(200);
    expect((await stored(id))[0][2]).toMatchObject({ value: 0.9, comment: 'first' });
  });

  it('of a trace belong to its root, also when they and an observation come before it', async () => {
    const [id, traceId] = [randomUUID(), randomUUID()];
    await ingest(event('span-update', { id: randomUUID(), traceId, output: 1 }, 2));
    await ingest(event('score-create', { id, traceId, name: 's', value: 1 }, 3));
    await ingest(event('trace-create', { id: traceId, name: 'answer' }, 1));
    expect(await stored(id)).toEqual([[`svc:///${project_id}/call/${traceId}`, 's', { value: 1 }]]);
  });

  it('are stored once and exactly when two requests store one at the same time', async () => {
    const [id, traceId] = [randomUUID(), randomUUID()];
    const seconds = [4, 9, 1, 7, 2, 8, 3, 6, 5];
    await Promise.all(
      seconds.map((second) =>
        ingest(
          event(
            'score-create',
            { id, traceId, name: 's', value: second, [`m${second}`]: 1 },
            second,
          ),
        ),
      ),
    );
    const members = Object.fromEntries(seconds.map((second) => [`m${second}`, 1]));
    expect(await stored(id)).toEqual([
      [`svc:///${project_id}/call/${traceId}`, 's', { value: 9, ...members }],
    ]);
  });

  it('belong to sessions and to runs of datasets', async () => {
    const [event1, single, listed, ofRun] = [
      randomUUID(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
    ];
    const about = (id: string, subject: object) => ({ id, name: 'helpful', value: 1, ...subject });
    const session = { sessionId: 'a/b ü' };
    const run = { datasetRunId: '0123456789abcdef' };
    expect((await ingest(event('score-create', about(event1, session)))).body.errors).toEqual([]);
    expect((await post({ ...about(single, session), traceId: null })).status).toBe(200);
    expect((await post([about(listed, session), about(ofRun, run)])).status).toBe(202);
    const conversation = `svc:///${project_id}/agent_conversation/a%2Fb%20%C3%BC`;
    for (const id of [event1, single, listed])
      expect(await stored(id)).toEqual([[conversation, 'helpful', { value: 1, ...session }]]);
    expect(await stored(ofRun)).toEqual([
      [`svc:///${project_id}/call/0123456789abcdef`, 'helpful', { value: 1, ...run }],
    ]);
    const { body } = await app.post('/feedback/query', {
      project_id,
      query: { $expr: { $eq: [{ $getField: 'svc_ref' }, { $literal: conversation }] } },
    });
    expect(body.total_count).toBe(3);
  });

  it.each([
    [{}, /^traceId must name/],
    [{ sessionId: '' }, /^sessionId must be a non-empty string/],
    [{ sessionId: 5 }, /^sessionId must be/],
    [{ sessionId: 'half \ud800' }, /^sessionId must be/],
    [{ datasetRunId: 'x'.repeat(257) }, /^datasetRunId must be/],
    [{ traceId: 't', timestamp: 'soon' }, /^timestamp must be an ISO 8601/],
  ])('are refused with %j', async (more, message) => {
    const { status, body } = await post({ name: 's', value: 1, ...more });
    expect([status, body.errors[0]]).toEqual([
      400,
      { path: expect.any(String), message: expect.any(String) },
    ]);
    expect(`${body.errors[0].path} ${body.errors[0].message}`).toMatch(message);
  });
});

describe('the times of a trace', () => {
  const times = async (id: string) => {
    const { started_at, ended_at, summary } = await read(id);
    return [started_at.slice(17, 23), ended_at.slice(17, 23), summary.svc.latency_ms];
  };

  it('last from its first to its last observation, in whatever order they come', async () => {
    const id = randomUUID();
    const span = (name: string, from: number, to?: number) =>
      event('span-create', { id: `${id}-${name}`, traceId: id, startTime: at(from), ...(to && { endTime: at(to) }) }); // prettier-ignore
    await ingest(span('b', 12, 14));
    await ingest(
      event('trace-create', { id, name: 'answer', timestamp: at(11), sessionId: id }, 11),
    );
    expect(await times(id)).toEqual(['12.000', '14.000', 2000]);
    await ingest(span('c', 13, 19), span('d', 20));
    expect(await times(id)).toEqual(['12.000', '20.000', 8000]);
    await ingest(span('a', 10, 11));
    expect(await times(id)).toEqual(['10.000', '20.000', 10_000]);
    await ingest(event('span-update', { id: `${id}-d`, endTime: at(25) }, 1));
    expect(await times(id)).toEqual(['10.000', '25.000', 15_000]);
    await ingest(event('span-update', { id: `${id}-d`, endTime: at(22) }, 2));
    expect(await times(id)).toEqual(['10.000', '22.000', 12_000]);
    const late = { id, tags: ['late'], timestamp: '2026-03-30T12:00:00.000Z' };
    await ingest({ ...event('trace-create', late), timestamp: '2026-03-30T12:00:00.000Z' });
    expect(await times(id)).toEqual(['10.000', '22.000', 12_000]);
    expect((await read(id)).attributes.tags).toEqual(['late']);
    const threads = await app.post('/threads/stream_query', {
      project_id,
      filter: { thread_ids: [id] },
    });
    expect(linesOf(threads)).toMatchObject([
      { turn_count: 1, p50_turn_duration_ms: 12_000, p99_turn_duration_ms: 12_000 },
    ]);
  });

  it('are those of its own timestamp as long as it has no observation', async () => {
    const id = randomUUID();
    await ingest(event('trace-create', { id, timestamp: at(3) }, 4));
    await ingest(event('trace-create', { id, output: 'late', timestamp: at(50) }, 50));
    expect(await times(id)).toEqual(['03.000', '03.000', 0]);
    await ingest(event('event-create', { id: `${id}-e`, traceId: id, startTime: at(5) }));
    expect(await times(id)).toEqual(['05.000', '05.000', 0]);
  });
});

describe('types of observations and end users', () => {
  it('keeps what an observation is', async () => {
    const trace = randomUUID();
    const types = [
      ['generation', 'chat'],
      ['span', null],
      ['event', 'event'],
      ['agent', 'invoke_agent'],
      ['tool', 'execute_tool'],
      ['chain', 'chain'],
      ['retriever', 'retrieval'],
      ['embedding', 'embeddings'],
      ['guardrail', 'guardrail'],
      ['reranker', 'reranker'],
      ['evaluator', 'evaluator'],
    ] as const;
    const ids = types.map(([type], i) => [`${trace}-${type}`, `${trace}-o${i}`] as const);
    const batch = types.flatMap(([type], i) => [
      event(`${type}-create`, { id: ids[i]![0], traceId: trace }, 1),
      event('observation-create', { id: ids[i]![1], traceId: trace, type: type.toUpperCase() }, 1),
      event('span-update', { id: ids[i]![0], output: 1 }, 2),
    ]);
    const { body } = await ingest(...batch);
    expect(body.errors).toEqual([]);
    const asked = {
      project_id,
      filter: { trace_ids: [trace] },
      columns: ['operation', 'attributes'],
    };
    const { calls } = (await app.post('/calls/query', asked)).body;
    const byId = new Map(
      calls.map((call: any) => [call.id, [call.operation, call.attributes.type]]),
    );
    expect(byId).toEqual(
      new Map(
        types.flatMap(([type, operation], i) =>
          ids[i]!.map((id) => [id, [operation, type.toUpperCase()]]),
        ),
      ),
    );
  });

  it('shows the user of a trace as its end user', async () => {
    const id = randomUUID();
    await ingest(event('trace-create', { id, name: 'answer', userId: 'maria' }, 1));
    await ingest(event('trace-create', { id, userId: 'old maria' }, 0));
    const { body } = await app.post('/calls/query', {
      project_id,
      filter: { trace_ids: [id] },
      limit: 10,
      include_trace_totals: true,
      include_costs: true,
    });
    expect(body.calls[0].summary.svc).toMatchObject({ trace_user: 'maria' });
  });
});

it('answers what SDKs ask at start', async () => {
  const projects = await fetch(`${app.url}/api/public/projects`, { headers: asDemo() });
  expect(await projects.json()).toMatchObject({ data: [{ id: project_id, name: 'demo' }] });
  const health = await fetch(`${app.url}/api/public/health`);
  expect(await health.json()).toMatchObject({ status: 'OK' });
});

describe('npm run import', () => {
  const folder = aFolder();
  afterAll(() => folder.remove());
  let files = 0;
  const fileOf = (content: unknown) => {
    const path = join(folder.path, `${++files}.json`);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
    return path;
  };
  const joinedLines = (...records: unknown[]) =>
    records.map((record) => JSON.stringify(record)).join('\n');
  const fixture = (name: string) => `test/fixtures/import/${name}`;

  async function load(format: ImportFormat, file: string, project: string, key = app.key) {
    const said: string[] = [];
    const say = (line: string) => void said.push(line);
    const service = new TargetService(app.url, key, project);
    const tally = await importFile(file, format, service, { say, everyMs: Infinity });
    return { summary: tally.summary(), said };
  }
  const callsOf = async (project: string) =>
    (await app.post('/calls/query', { project_id: project })).body.calls as any[];
  const byName = (calls: any[], name: string) => calls.find(({ op_name }) => op_name === name);

  it('takes a trace of Langfuse with its observations and scores, any number of times', async () => {
    const project = 'acme/import';
    const exported = {
      trace: {
        id: 't1',
        projectId: 'theirs',
        name: 'answer',
        timestamp: '2026-01-31T12:00:00.123Z',
        sessionId: 'talk',
        userId: 'u',
        tags: ['a'],
        release: null,
        input: JSON.stringify(JSON.stringify({ question: 1.5 })),
        output: '"Sunny."',
        metadata: '{"plan":"pro"}',
        latency: 9,
        scores: [{ id: 's1', name: 'accuracy', value: 0.9, comment: 'fine', observationId: null }],
      },
      observations: [
        {
          id: 'o1',
          traceId: 't1',
          type: 'GENERATION',
          name: 'llm',
          startTime: '2026-01-31T12:00:01.000Z',
          endTime: '2026-01-31T12:00:03.500Z',
          parentObservationId: null,
          input: [{ role: 'user', content: 'hi' }],
          output: { n: 12345678901234567890n.toString() },
          model: 'gpt-4o-mini',
          usageDetails: { input: 20, output: 8, 'prompt_details.cache_read': 4 },
          costDetails: {},
          level: 'DEFAULT',
        },
      ],
    };
    for (let times = 0; times < 2; times++)
      expect(await load('langfuse', fileOf(exported), project)).toEqual({
        summary: '1 traces, 1 observations, 1 scores',
        said: [],
      });
    const calls = await callsOf(project);
    expect(calls).toHaveLength(2);
    expect(byName(calls, 'answer')).toMatchObject({
      id: 't1',
      thread_id: 'talk',
      started_at: '2026-01-31T12:00:00.123000Z',
      ended_at: '2026-01-31T12:00:03.500000Z',
      inputs: { question: 1.5 },
      output: 'Sunny.',
      attributes: { userId: 'u', tags: ['a'], metadata: { plan: 'pro' } },
    });
    expect(byName(calls, 'llm')).toMatchObject({
      parent_id: 't1',
      inputs: { messages: [{ role: 'user', content: 'hi' }] },
      attributes: { model: 'gpt-4o-mini' },
      summary: { usage: { 'gpt-4o-mini': { prompt_tokens: 20, cache_read_input_tokens: 4 } } },
    });
    const { result } = (await app.post('/feedback/query', { project_id: project })).body;
    expect(result).toMatchObject([{ feedback_type: 'accuracy', payload: { value: 0.9 } }]);
  });

  it('takes lists of Langfuse, in the names of its API and of its blob storage', async () => {
    const project = 'acme/import-lists';
    const trace = { id: 't2', name: 'old', timestamp: '2026-01-31 12:00:00.000', latency: 2.5 };
    const observation = {
      id: 'o2',
      trace_id: 't2',
      type: 'EVENT',
      name: 'clicked',
      start_time: '2026-01-31 12:00:01.000',
      provided_model_name: 'm',
      prompt_tokens: 3,
    };
    const score = {
      id: 's2',
      name: 'style',
      string_value: 'short',
      trace_id: 't2',
      observation_id: 'o2',
    };
    expect(
      (await load('langfuse', fileOf(joinedLines(trace, observation, score)), project)).said,
    ).toEqual([]);
    const page = { data: [{ ...observation, id: 'o3', name: 'paged' }], meta: { page: 1 } };
    await load('langfuse', fileOf(page), project);
    const calls = await callsOf(project);
    expect(byName(calls, 'old')).toMatchObject({ ended_at: '2026-01-31T12:00:02.500000Z' });
    expect(byName(calls, 'clicked')).toMatchObject({
      parent_id: 't2',
      summary: { usage: { m: { prompt_tokens: 3 } } },
    });
    expect(byName(calls, 'paged').parent_id).toBe('t2');
    const { result } = (await app.post('/feedback/query', { project_id: project })).body;
    expect(result[0]).toMatchObject({ feedback_type: 'style', payload: { value: 'short' } });
  });

  it('takes spans and annotations of Phoenix, by its API and of its data frame', async () => {
    const project = 'acme/import-phoenix';
    for (const name of ['phoenix-dataframe.jsonl', 'phoenix-spans.json'])
      expect(await load('phoenix', fixture(name), project)).toEqual({
        summary: '3 spans',
        said: [],
      });
    await load('phoenix', fixture('phoenix-annotations.json'), project);
    const calls = await callsOf(project);
    expect(calls.map(({ op_name, inputs }) => [op_name, inputs])).toEqual([
      ['agent', { input: 'How is it?' }],
      [
        'ChatCompletion',
        expect.objectContaining({ messages: [{ role: 'user', content: 'How is it?' }] }),
      ],
      ['search', { city: 'Rome' }],
    ]);
    const [agent, llm, search] = calls;
    expect(agent).toMatchObject({
      thread_id: 'talk',
      turn_id: agent.id,
      started_at: '2026-11-22T13:12:04.235688Z',
      attributes: { 'user.id': 'u', 'tag.tags': ['a', 'b'], 'metadata.plan': 'pro' },
    });
    expect(llm).toMatchObject({
      parent_id: agent.id,
      summary: { usage: { 'gpt-4o-mini-2024-07-18': { prompt_tokens: 20, completion_tokens: 8 } } },
    });
    expect(search.exception).toContain('no network');
    const { result } = (await app.post('/feedback/query', { project_id: project })).body;
    expect(result).toMatchObject([
      {
        feedback_type: 'accuracy',
        svc_ref: `svc:///${project}/call/${agent.id}`,
        payload: { value: 0.9, label: 'good', comment: 'fine' },
      },
    ]);
  });

  it('takes OTLP/JSON line by line, and names the line of a span that is refused', async () => {
    const project = 'acme/import-otlp';
    const span = (spanId: string, more: object = {}) => ({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId,
      name: 'work',
      startTimeUnixNano: '1767225600123456789',
      attributes: [{ key: 'n', value: { intValue: '1234567890123456789' } }],
      ...more,
    });
    const request = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
    const file = fileOf(
      joinedLines(
        request(span('1111111111111111'), span('2222222222222222')),
        request(span('33', {}), span('4444444444444444')),
        request(span('5555555555555555')),
      ),
    );
    const { summary, said } = await load('otlp-json', file, project);
    expect(summary).toBe('5 spans, 1 of them refused');
    expect(said).toEqual([
      expect.stringMatching(/^line 2: a span of this line is refused: spanId/),
    ]);
    expect((await callsOf(project)).map(({ id }) => id[0])).toEqual(['1', '2', '4', '5']);
  });

  it.each<[ImportFormat, string, RegExp]>([
    ['langfuse', '{"id":"t","timestamp":"2026-01-31"}\n{"id":', /:2: the file ends within/],
    ['langfuse', '{"id":"t","timestamp":"2026-01-31"}\n{"id":,}', /:2: .*JSON/],
    ['langfuse', '{"name":"skein"}', /:1: is not a trace, observation or score/],
    ['phoenix', '\n{"name":"a"}', /:2: is not a span or annotation/],
    [
      'phoenix',
      '{"context.span_id":"a","context.trace_id":"b","start_time":"noon"}',
      /:1: "noon" is not a time/,
    ],
    ['otlp-json', '{"resourceMetrics":[]}', /:1: .*resourceSpans is missing/],
  ])('names the line of %s that it cannot read: %j', async (format, text, message) => {
    await expect(load(format, fileOf(text), project_id)).rejects.toThrow(message);
  });

  it('says what the service refuses, and ends where it refuses everything', async () => {
    const file = fileOf(
      joinedLines({ id: 't3', timestamp: 'noon' }, { id: 't4', timestamp: '2026-01-31' }),
    );
    const { summary, said } = await load('langfuse', file, 'acme/import-odd');
    expect(summary).toBe('2 traces, 1 of them refused');
    expect(said).toEqual([expect.stringMatching(/^line 1: trace t3 is refused: started_at must/)]);
    await expect(load('langfuse', file, 'acme/import-odd', 'none')).rejects.toThrow(/key/);
    const reader = await app.aKey('reader');
    await expect(load('langfuse', file, 'acme/import-odd', reader)).rejects.toThrow(/role/);
  });

  it('is a command', async () => {
    const run = (args: string[], env = {}) =>
      watched(process.execPath, ['dist/src/server/commands/import.cli.js', ...args], env);
    const where = ['--project', 'acme/import-command', '--url', app.url];
    const done = run(['phoenix', fixture('phoenix-spans.json'), ...where], {
      SKEIN_API_KEY: app.key,
    });
    const failed = run(['phoenix', fixture('phoenix-spans.json'), ...where]);
    expect([await done.exit, done.output()]).toEqual([
      0,
      expect.stringMatching(/phoenix-spans.json: 3 spans into acme\/import-command in [\d.]+ s/),
    ]);
    expect([await failed.exit, failed.output()]).toEqual([
      1,
      expect.stringContaining('SKEIN_API_KEY'),
    ]);
    expect(await callsOf('acme/import-command')).toHaveLength(3);
  });
});
