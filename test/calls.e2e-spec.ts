import { randomBytes } from 'node:crypto';
import { IdempotencySweeper } from '../src/auth/idempotency.sweeper.js';
import * as fc from 'fast-check';
import { elementTexts, valueAt } from '../src/common/json-text.js';
import { Slots } from '../src/database/slots.js';
import { callRows, deleteQuery } from '../src/calls/calls.query.js';
import { sql } from '../src/query/sql.js';
import { unlessCluster } from './support/database.js';
import { linesOf, startApp, type TestApp } from './support/app.js';
import { anEnd, aStart, at } from './support/factories.js';
import { jsonTexts } from './support/json-texts.js';

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** Text that a name may be. */
const wellFormed = (text: string) => Buffer.from(text.replaceAll('\0', '-')).toString();

describe('calls', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  let projects = 0;
  let project_id: string;
  beforeEach(() => {
    project_id = `acme/calls-${++projects}`;
  });

  const start = (overrides: object = {}) =>
    app.post('/call/start', { start: aStart({ project_id, ...overrides }) });
  const end = (overrides: object = {}) =>
    app.post('/call/end', { end: anEnd({ project_id, ...overrides }) });
  const read = async (id: string) => (await app.post('/call/read', { project_id, id })).body.call;
  const stream = async (query: object = {}) =>
    linesOf(await app.post('/calls/stream_query', { project_id, ...query }));
  const idsOf = async (query: object = {}) => (await stream(query)).map(({ id }) => id);

  describe('POST /call/start', () => {
    it('answers the ids, made up where they are missing', async () => {
      const { status, body } = await start();
      expect(status).toBe(200);
      expect(body).toEqual({
        id: expect.stringMatching(UUID_V7),
        trace_id: expect.stringMatching(UUID_V7),
      });
      expect((await start({ id: 'mine', trace_id: 'my trace' })).body).toEqual({
        id: 'mine',
        trace_id: 'my trace',
      });
    });

    it('takes null for every optional field, and any word as an id', async () => {
      const nothing = {
        attributes: null,
        inputs: null,
        id: null,
        display_name: null,
        trace_id: null,
        parent_id: null,
      };
      const more = {
        thread_id: null,
        turn_id: null,
        otel_dump: null,
        svc_user_id: null,
        svc_run_id: null,
        svc_run_step: null,
      };
      const { body } = await start({ ...nothing, ...more });
      expect(await read(body.id)).toMatchObject({
        attributes: {},
        inputs: {},
        display_name: null,
        svc_run_step: null,
      });
      expect(
        (await start({ id: 'id', trace_id: 'trace_id', parent_id: 'parent_id', svc_run_step: 0 }))
          .status,
      ).toBe(200);
    });

    it('gives a child without a trace the trace of its stored parent', async () => {
      const parent = (await start({ id: 'parent' })).body;
      expect((await start({ parent_id: 'parent' })).body.trace_id).toBe(parent.trace_id);
    });

    it('keeps the generated trace when the start is repeated', async () => {
      const first = (await start({ id: 'again' })).body;
      expect((await start({ id: 'again' })).body).toEqual(first);
    });

    it('replaces what an earlier start said, and keeps the end', async () => {
      await start({
        id: 'a',
        op_name: 'old',
        inputs: { old: 1 },
        thread_id: 't',
        display_name: 'shown',
      });
      await end({ id: 'a', output: 'kept' });
      await start({ id: 'a', op_name: 'new', inputs: { new: 1 } });
      expect(await read('a')).toMatchObject({
        op_name: 'new',
        inputs: { new: 1 },
        thread_id: null,
        output: 'kept',
        display_name: 'shown',
      });
    });

    it('sets the user from the key, whatever the client says', async () => {
      const key = await app.aKey('writer', ['*'], 'grace');
      await app.post(
        '/call/start',
        { start: aStart({ project_id, id: 'a', svc_user_id: 'mallory' }) },
        { key },
      );
      expect((await read('a')).svc_user_id).toBe('grace');
    });

    it('answers sizes when they are asked for, of a trace at its root', async () => {
      await start({ id: 'a', trace_id: 't', inputs: { text: 'x'.repeat(500) } });
      await start({ id: 'b', trace_id: 't', parent_id: 'a' });
      const sizes = { include_storage_size: true, include_total_storage_size: true };
      const { body } = await app.post('/calls/query', { project_id, ...sizes });
      const [a, b] = body.calls;
      expect(a.storage_size_bytes).toBeGreaterThan(500);
      expect(b.storage_size_bytes).toBeLessThan(100);
      expect(a.total_storage_size_bytes).toBe(a.storage_size_bytes + b.storage_size_bytes);
      expect(b.total_storage_size_bytes).toBeNull();
      const one = await app.post('/call/read', { project_id, id: 'a', ...sizes });
      expect(one.body.call).toEqual(a);
      const columns = { project_id, columns: ['id'], include_storage_size: true };
      const [narrow] = (await app.post('/calls/query', columns)).body.calls;
      expect(narrow.storage_size_bytes).toBe(a.storage_size_bytes);
      expect(await read('a')).not.toHaveProperty('storage_size_bytes');
    });

    it('refuses to search behind refs, and takes the columns otherwise', async () => {
      const ask = (more: object) =>
        app.post('/calls/query', { project_id, expand_columns: ['inputs.o'], ...more });
      const query = {
        $expr: { $not: [{ $eq: [{ $getField: 'inputs.o.lr' }, { $literal: '1' }] }] },
      };
      const sort_by = [{ field: 'inputs.o.lr', direction: 'asc' }];
      for (const more of [{ query }, { sort_by }])
        expect(await ask(more)).toMatchObject({
          status: 400,
          body: { errors: [{ path: 'expand_columns' }] },
        });
      expect((await ask({ sort_by: [{ field: 'inputs.other', direction: 'asc' }] })).status).toBe(
        200,
      );
    });

    it("keeps a client's own members of the derived summary beside the derived ones", async () => {
      await start({ id: 'a' });
      await end({ id: 'a', summary: { n: 1, svc: { views: { v: [1] }, status: 'mine' }, m: 2 } });
      await start({ id: 'b' });
      await end({ id: 'b', summary: { svc: 'text' } });
      const asked = { project_id, include_costs: true };
      const texts = [
        (await app.post('/calls/stream_query', { project_id })).text,
        (await app.post('/calls/stream_query', asked)).text,
        `${JSON.stringify((await app.post('/call/read', { project_id, id: 'a' })).body.call)}\n${JSON.stringify((await app.post('/call/read', { ...asked, id: 'b' })).body.call)}\n`,
      ];
      for (const text of texts) {
        const [a, b] = text.trim().split('\n');
        expect([a, b].map((line) => line!.match(/"svc":/g)?.length)).toEqual([1, 1]);
        expect(JSON.parse(a!).summary).toMatchObject({
          n: 1,
          m: 2,
          svc: { views: { v: [1] }, status: 'success' },
        });
        expect(JSON.parse(b!).summary.svc.status).toBe('success');
      }
    });

    it('shows an OpenTelemetry span as attributes.otel_span', async () => {
      await start({ id: 'a', otel_dump: { span: 1 } });
      await start({ id: 'b', attributes: { x: 1 }, otel_dump: { span: 1 } });
      expect((await read('a')).attributes).toEqual({ otel_span: { span: 1 } });
      expect((await read('b')).attributes).toEqual({ x: 1, otel_span: { span: 1 } });
    });

    it.each(['"banana"', 'true', 'false', '1'])(
      'takes no internal member from a client: skein_opaque %s',
      async (value) => {
        const forged = `"skein_opaque":${value},"skein_trace":"mine","skein_failed":true`;
        const begun = `{"start":{"project_id":"${project_id}","id":"a","op_name":"x","started_at":"2026-01-01","inputs":{"a":1},${forged}}}`;
        expect((await app.post('/call/start', begun)).status).toBe(200);
        const ended = `{"end":{"project_id":"${project_id}","id":"a","ended_at":"2026-01-02","output":"[1, 2]",${forged}}}`;
        expect((await app.post('/call/end', ended)).status).toBe(200);
        const call = await read('a');
        expect(call).toMatchObject({
          inputs: { a: 1 },
          output: '[1, 2]',
          summary: { svc: { status: 'success' } },
        });
        expect(call.trace_id).not.toBe('mine');
      },
    );

    it('takes a step in any spelling of a whole number', async () => {
      const sent = `{"start":{"project_id":"${project_id}","id":"a","op_name":"x","started_at":"2026-01-01","svc_run_step":1.2e1}}`;
      expect((await app.post('/call/start', sent)).status).toBe(200);
      expect((await read('a')).svc_run_step).toBe(12);
      expect((await app.post('/call/start', sent.replace('1.2e1', '1e-20000'))).status).toBe(200);
      expect((await read('a')).svc_run_step).toBe(0);
    });

    it('ignores fields it does not know, those of the end included', async () => {
      const { body } = await start({
        unknown: 1,
        output: 'not mine',
        ended_at: at(9),
        skein_user: 'mallory',
        skein_opaque: true,
      });
      expect(await read(body.id)).toMatchObject({
        output: null,
        ended_at: null,
        svc_user_id: 'ada',
        inputs: {},
      });
    });

    it.each<[string, object]>([
      ['start.project_id', { project_id: undefined }],
      ['start.project_id', { project_id: 'no-slash' }],
      ['start.project_id', { project_id: 'a/b/c' }],
      ['start.op_name', { op_name: undefined }],
      ['start.op_name', { op_name: '' }],
      ['start.op_name', { op_name: 'x'.repeat(1025) }],
      ['start.op_name', { op_name: 'nul \0' }],
      ['start.started_at', { started_at: undefined }],
      ['start.started_at', { started_at: '2024-W01' }],
      ['start.started_at', { started_at: '2026-02-30T00:00:00Z' }],
      ['start.started_at', { started_at: 1700000000 }],
      ['start.inputs', { inputs: [] }],
      ['start.inputs', { inputs: 'text' }],
      ['start.attributes', { attributes: 1 }],
      ['start.id', { id: '' }],
      ['start.id', { id: 'x'.repeat(257) }],
      ['start.id', { id: 'line\nbreak' }],
      ['start.id', { id: 7 }],
      ['start.display_name', { display_name: 'x'.repeat(1025) }],
      ['start.svc_run_step', { svc_run_step: -1 }],
      ['start.svc_run_step', { svc_run_step: 1.5 }],
      ['start.svc_run_step', { svc_run_step: 2 ** 31 }],
      ['start.otel_dump', { otel_dump: 'x' }],
      ['start.thread_id', { thread_id: 5 }],
    ])('refuses a bad %s: %j', async (path, overrides) => {
      const { status, body } = await start(overrides);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        code: 'invalid_request',
        errors: [{ path, message: expect.any(String) }],
      });
    });

    it.each([{}, { start: null }, { start: [] }, []])('refuses the body %j', async (body) => {
      expect(await app.post('/call/start', body)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      });
    });

    it('refuses JSON nested deeper than PostgreSQL could follow, and stores nothing', async () => {
      const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
      const body = JSON.stringify({ start: aStart({ project_id, inputs: { deep: 0 } }) }).replace(
        '"deep":0',
        `"deep":${deep}`,
      );
      expect(await app.post('/call/start', body)).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('1000') },
      });
      expect(await stream()).toEqual([]);
    });

    it('stores JSON nested as deep as the limit allows', async () => {
      const deep = `${'['.repeat(990)}${']'.repeat(990)}`;
      const body = JSON.stringify({
        start: aStart({ project_id, id: 'deep', inputs: { deep: 0 } }),
      }).replace('"deep":0', `"deep":${deep}`);
      expect((await app.post('/call/start', body)).status).toBe(200);
      expect((await app.post('/call/read', { project_id, id: 'deep' })).text).toContain(deep);
    });
  });

  describe('what is stored', () => {
    const NASTY = [
      '{"n":12345678901234567890,"f":1.0,"e":1e2,"z":-0.0,"tiny":5e-324}',
      '{"b":1,"a":2,"b":3}',
      '{"__proto__":{"x":1},"constructor":{"prototype":1},"toString":"x","hasOwnProperty":null}',
      String.raw`{"nul":"\u0000","lone":"\ud800","pair":"\ud83d\ude00","escaped":"\\u0000","slash":"\/"}`,
      '{ "spaced" : [ 1 , 2 ] ,\t"t":"\\t" }',
      '{"emoji":"😀","line":"\u2028"}',
      '{"":""}',
      '{}',
    ];

    it.each(NASTY)('comes back as it was sent: %s', async (json) => {
      const sent = `{"start":{"project_id":"${project_id}","id":"a","op_name":"x","started_at":"2026-01-01","inputs":${json},"attributes":${json}}}`;
      expect((await app.post('/call/start', sent)).status).toBe(200);
      const done = `{"end":{"project_id":"${project_id}","id":"a","ended_at":"2026-01-02","output":${json},"summary":${json}}}`;
      expect((await app.post('/call/end', done)).status).toBe(200);
      const { text } = await app.post('/call/read', { project_id, id: 'a' });
      expect(valueAt(text, 'call', 'inputs')).toBe(json);
      expect(valueAt(text, 'call', 'attributes')).toBe(json);
      expect(valueAt(text, 'call', 'output')).toBe(json);
      expect(valueAt(text, 'call', 'summary').startsWith(json.slice(0, -1).trimEnd())).toBe(true);
    });

    it.each(['1.0', '"text"', 'false', '[1.50]', String.raw`"\u0000"`, '-0'])(
      'keeps the output %s',
      async (json) => {
        await start({ id: 'a' });
        await app.post(
          '/call/end',
          `{"end":{"project_id":"${project_id}","id":"a","ended_at":"2026-01-02","output":${json}}}`,
        );
        const { text } = await app.post('/call/read', { project_id, id: 'a' });
        expect(valueAt(text, 'call', 'output')).toBe(json);
      },
    );

    it('is one line in a stream even when it was sent on several', async () => {
      const json = '{\n  "a": 1,\r\n  "b": "\\n"\n}';
      await app.post(
        '/call/start',
        `{"start":{"project_id":"${project_id}","op_name":"x","started_at":"2026-01-01","inputs":${json}}}`,
      );
      const answer = await app.post('/calls/stream_query', { project_id });
      expect(answer.text.match(/\n/g)).toHaveLength(1);
      expect(linesOf(answer)[0].inputs).toEqual({ a: 1, b: '\n' });
    });

    it('is answered by every read as it was sent, whatever it holds', async () => {
      const names = fc
        .string({
          unit: fc.oneof(
            fc.constantFrom(...Array.from('"\\\n\u001f\u007fé😀')),
            fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          ),
          minLength: 1,
          maxLength: 40,
        })
        .map(wellFormed);
      const odd = fc.constantFrom(
        '{}',
        '{ \n }',
        '{"a":1 }',
        '{ "svc": 7 }',
        '{\r\n"b":"\\u0000\\ud800"}',
      );
      const object = fc.oneof(
        odd,
        jsonTexts.map((text) => `{"value":${text}}`),
      );
      const optional = (value: fc.Arbitrary<string>) => fc.option(value, { nil: 'null' });
      const call = fc.record({
        op_name: names.map((name) => JSON.stringify(name)),
        display_name: optional(names.map((name) => JSON.stringify(name))),
        started_at: fc.constantFrom(
          '"2026-01-31"',
          '"2026-01-31T12:00:00.12"',
          '"0001-01-01T00:00:00.000001Z"',
        ),
        attributes: optional(object),
        inputs: optional(object),
        otel_dump: optional(object),
      });
      const ending = fc.record({
        ended_at: fc.constantFrom('"2026-02-01T00:00:00.5Z"', '"9999-12-31T23:59:59.999999Z"'),
        summary: optional(object),
        output: optional(fc.oneof(odd, jsonTexts)),
        exception: optional(names.map((name) => JSON.stringify(name))),
      });
      const texts = fc.sample(fc.tuple(call, fc.option(ending, { nil: {} })), {
        numRuns: 150,
        seed: 7,
      });
      const spelled = (members: object) =>
        Object.entries(members)
          .map(([name, json]) => `,"${name}":${json}`)
          .join('');
      const items = texts.flatMap(([started, ended], i) => {
        const names = `"project_id":"${project_id}","id":"call-${String(i).padStart(3, '0')}"`;
        return [
          `{"mode":"start","req":{"start":{${names}${spelled(started)}}}}`,
          ...('ended_at' in ended
            ? [`{"mode":"end","req":{"end":{${names}${spelled(ended)}}}}`]
            : []),
        ];
      });
      const { body } = await app.post('/call/upsert_batch', `{"batch":[${items.join(',')}]}`);
      expect(body.res.filter((item: object) => 'error' in item)).toEqual([]);

      const sorted = { project_id, sort_by: [{ field: 'id', direction: 'asc' }] };
      const lines = (await app.post('/calls/stream_query', sorted)).text.trimEnd().split('\n');
      const priced = (await app.post('/calls/stream_query', { ...sorted, include_costs: true }))
        .text;
      const array = elementTexts((await app.post('/calls/query', sorted)).text, 'calls');
      expect([lines.length, array.length]).toEqual([texts.length, texts.length]);
      const oneLine = (text: string) => text.replaceAll(/[\r\n]/g, ' ');
      for (const [i, [started, ended]] of texts.entries()) {
        const whole = array[i]!;
        expect(lines[i]).toBe(oneLine(whole));
        for (const name of ['inputs', 'output'] as const) {
          const absent = name === 'inputs' ? '{}' : 'null';
          const sent: string = { output: 'null', ...started, ...ended }[name];
          expect(valueAt(whole, name)).toBe(sent === 'null' ? absent : sent.trim());
        }
        const { id } = JSON.parse(whole);
        const { text } = await app.post('/call/read', { project_id, id });
        expect(JSON.parse(whole)).toEqual(JSON.parse(text).call); // composed by PostgreSQL
      }
      expect(
        priced
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).inputs),
      ).toEqual(lines.map((line) => JSON.parse(line).inputs));
    });

    it.each([
      ['svc:///acme/demo/op/run:v1', 'run'],
      ['svc:///acme/demo/op/run:v1/attr/x', 'run'],
      ['svc:///acme/demo/op/a b.c:*', 'a b.c'],
      ['svc:///acme/demo/op/run', null],
      ['svc:///acme/demo/op/:v1', null],
      ['svc:///acme/demo/op/run/more:v1', null],
      ['svc:///acme//op/run:v1', null],
      ['svc:////demo/op/run:v1', null],
      ['svc:///acme/demo/object/run:v1', null],
      ['other:///acme/demo/op/run:v1', null],
      ['svc:///acme/demo/x/op/run:v1', null],
    ])('shows %s under the name %s', async (op_name, name) => {
      await start({ id: 'a', op_name });
      const [streamed] = await stream();
      expect(streamed.summary.svc.trace_name).toBe(name ?? op_name);
      expect((await read('a')).summary.svc.trace_name).toBe(name ?? op_name);
    });

    it('keeps microseconds, and reads a time without offset as UTC', async () => {
      await start({ id: 'a', started_at: '2026-01-31T12:00:00.123456' });
      await end({ id: 'a', ended_at: '2026-01-31T14:00:00.123457+02:00' });
      const call = await read('a');
      expect(call).toMatchObject({
        started_at: '2026-01-31T12:00:00.123456Z',
        ended_at: '2026-01-31T12:00:00.123457Z',
      });
      expect(call.summary.svc.latency_ms).toBe(0.001);
    });
  });

  describe('POST /call/end', () => {
    it('may come before its start, which then shows the whole call', async () => {
      expect(
        await end({ id: 'late', output: 1, started_at: at(1), trace_id: 'early trace' }),
      ).toMatchObject({ status: 200, body: {} });
      expect(await read('late')).toBeNull();
      expect(await stream()).toEqual([]);
      expect((await start({ id: 'late', started_at: at(3) })).body.trace_id).toBe('early trace');
      expect(await read('late')).toMatchObject({
        output: 1,
        started_at: '2026-01-01T00:00:03.000000Z',
        ended_at: expect.any(String),
      });
    });

    it('may be repeated, the last one counts', async () => {
      await start({ id: 'a' });
      await end({ id: 'a', output: 'first', exception: 'boom', svc_run_step_end: 3 });
      await end({ id: 'a', output: 'second' });
      expect(await read('a')).toMatchObject({
        output: 'second',
        exception: null,
        svc_run_step_end: null,
      });
    });

    it.each<[string, object | null]>([
      ['running', null],
      ['success', {}],
      ['success', { summary: { status_counts: { error: 0 } } }],
      ['error', { exception: 'boom', summary: { status_counts: { error: 2 } } }],
      ['descendant_error', { summary: { status_counts: { error: 2 } } }],
    ])('makes the status %s from %j', async (status, overrides) => {
      await start({ id: 'a' });
      if (overrides) await end({ id: 'a', ...overrides });
      expect((await read('a')).summary.svc.status).toBe(status);
      expect(
        await idsOf({
          query: { $expr: { $eq: [{ $getField: 'summary.svc.status' }, { $literal: status }] } },
        }),
      ).toEqual(['a']);
    });

    it.each<[string, object]>([
      ['end.id', { id: undefined }],
      ['end.ended_at', { ended_at: undefined }],
      ['end.ended_at', { ended_at: 'yesterday' }],
      ['end.summary', { summary: 'x' }],
      ['end.exception', { exception: 'nul \0' }],
      ['end.project_id', { project_id: 'x' }],
    ])('refuses a bad %s: %j', async (path, overrides) => {
      expect(await end({ id: 'a', ...overrides })).toMatchObject({
        status: 400,
        body: { errors: [{ path }] },
      });
    });
  });

  describe('POST /call/upsert_batch', () => {
    const batch = async (items: unknown[]) => app.post('/call/upsert_batch', { batch: items });
    const startItem = (overrides: object) => ({
      mode: 'start',
      req: { start: aStart({ project_id, ...overrides }) },
    });
    const endItem = (overrides: object) => ({
      mode: 'end',
      req: { end: anEnd({ project_id, ...overrides }) },
    });

    it('takes starts and ends in any order and answers in theirs', async () => {
      const { status, body } = await batch([
        endItem({ id: 'child', output: 1 }),
        startItem({ id: 'child', trace_id: 't', parent_id: 'root' }),
        startItem({ id: 'root', trace_id: 't' }),
        endItem({ id: 'root', output: 2 }),
      ]);
      expect(status).toBe(200);
      expect(body.res).toEqual([
        {},
        { id: 'child', trace_id: 't' },
        { id: 'root', trace_id: 't' },
        {},
      ]);
      expect(await read('child')).toMatchObject({ parent_id: 'root', output: 1 });
      expect(await read('root')).toMatchObject({ output: 2 });
    });

    it('keeps the last of several starts of one call', async () => {
      await batch([startItem({ id: 'a', op_name: 'one' }), startItem({ id: 'a', op_name: 'two' })]);
      expect((await read('a')).op_name).toBe('two');
    });

    it('gives children without a trace the trace of their parent in the batch', async () => {
      const { body } = await batch([
        startItem({ id: 'grandchild', parent_id: 'child' }),
        startItem({ id: 'child', parent_id: 'root' }),
        startItem({ id: 'root' }),
        startItem({ id: 'x', parent_id: 'y' }),
        startItem({ id: 'y', parent_id: 'x' }),
      ]);
      const [grandchild, child, root] = body.res.map((res: { trace_id: string }) => res.trace_id);
      expect([grandchild, child]).toEqual([root, root]);
    });

    it('follows 10,000 parents, and a circle of 10,000', async () => {
      for (const last of [null, '0']) {
        const batch = Array.from({ length: 10_000 }, (_, i) =>
          startItem({ id: `${i}`, parent_id: i < 9999 ? `${i + 1}` : last }),
        );
        const project = `acme/deep-${last}`;
        for (const { req } of batch) req.start.project_id = project;
        const { status, body } = await app.post('/call/upsert_batch', { batch });
        expect(status).toBe(200);
        const traces = body.res.map((res: { trace_id: string }) => res.trace_id);
        expect(new Set(traces)).toEqual(new Set([expect.stringMatching(UUID_V7)]));
      }
    });

    it('gives them the trace of a stored ancestor, or of an end that came along', async () => {
      await start({ id: 'G', trace_id: 'T' });
      await start({ id: 'again', trace_id: 'A' });
      const { body } = await batch([
        startItem({ id: 'C', parent_id: 'P' }),
        startItem({ id: 'P', parent_id: 'G' }),
        startItem({ id: 'P2' }),
        endItem({ id: 'P2', trace_id: 'E' }),
        startItem({ id: 'C2', parent_id: 'P2' }),
        startItem({ id: 'again' }),
        startItem({ parent_id: 'again' }),
        startItem({}),
      ]);
      const traces = body.res.map((res: { trace_id: string }) => res.trace_id);
      expect(traces).toEqual([
        'T',
        'T',
        'E',
        undefined,
        'E',
        'A',
        'A',
        expect.stringMatching(UUID_V7),
      ]);
      const stored = (await stream({ columns: ['parent_id'] })).map((call) => call.trace_id);
      expect(new Set(stored)).toEqual(new Set(traces.filter(Boolean)));
    });

    it('answers each odd item in its place and stores the rest', async () => {
      const key = await app.aKey('writer', [project_id]);
      const odd = [
        startItem({ id: 'good' }),
        startItem({ id: 'bad', op_name: 5 }),
        startItem({ id: 'foreign', project_id: 'other/project' }),
        { mode: 'stop', req: {} },
        { mode: 'end' },
        { mode: 'start', req: { end: {} } },
        null,
        7,
        startItem({ id: 'deep', inputs: { deep: 'DEEP' } }),
        endItem({ id: 'good', output: 'stored' }),
      ];
      const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`;
      const sent = JSON.stringify({ batch: odd }).replace('"DEEP"', deep);
      const { status, body } = await app.post('/call/upsert_batch', sent, { key });
      expect(status).toBe(200);
      expect(body.res.map((res: any) => res.error?.code ?? 'stored')).toEqual([
        'stored',
        'invalid_request',
        'forbidden',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'invalid_request',
        'stored',
      ]);
      expect(body.res[1].error.detail).toContain('req.start.op_name');
      expect(await idsOf()).toEqual(['good']);
      expect((await read('good')).output).toBe('stored');
    });

    it('stores opaque and plain items side by side', async () => {
      const sent = JSON.stringify({
        batch: [
          startItem({ id: 'a', inputs: { x: 'NUL' } }),
          startItem({ id: 'b', inputs: { x: 1 } }),
        ],
      }).replace('NUL', '\\u0000');
      expect((await app.post('/call/upsert_batch', sent)).body.res).toHaveLength(2);
      expect((await read('a')).inputs).toEqual({ x: '\0' });
      expect((await read('b')).inputs).toEqual({ x: 1 });
      // the opaque row neither fails nor poisons a query into free-form JSON
      expect(
        await idsOf({ query: { $expr: { $eq: [{ $getField: 'inputs.x' }, { $literal: 1 }] } } }),
      ).toEqual(['b']);
    });

    it('stores 10,000 items and refuses one more', async () => {
      const items = Array.from({ length: 10_000 }, (_, i) => startItem({ id: `c${i}` }));
      expect((await batch(items)).body.res).toHaveLength(10_000);
      expect((await app.post('/calls/query_stats', { project_id })).body.count).toBe(10_000);
      const { status, body } = await batch([...items, startItem({})]);
      expect(status).toBe(413);
      expect(body).toMatchObject({ code: 'too_large', detail: expect.stringContaining('10000') });
    });

    it('accepts an empty batch and refuses what is none', async () => {
      expect((await batch([])).body).toEqual({ res: [] });
      expect(await app.post('/call/upsert_batch', { batch: {} })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'batch' }] },
      });
    });

    it('merges concurrent parts of the same calls without losing any', async () => {
      const ids = Array.from({ length: 40 }, (_, i) => `c${i}`);
      const requests = Array.from({ length: 20 }, (_, n) =>
        batch(
          ids
            .toSorted(() => (n % 2 ? 1 : -1))
            .map((id) =>
              n % 2 ? startItem({ id, op_name: `op${n}` }) : endItem({ id, output: n }),
            ),
        ),
      );
      for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
      const calls = await stream();
      expect(calls).toHaveLength(40);
      for (const call of calls)
        expect([call.op_name, call.output]).toEqual([
          expect.stringMatching(/^op/),
          expect.any(Number),
        ]);
    });
  });

  describe('Idempotency-Key', () => {
    const withKey = (key: string, overrides: object = {}) =>
      app.post(
        '/call/start',
        { start: aStart({ project_id, ...overrides }) },
        { headers: { 'idempotency-key': key } },
      );

    it('a resend gets the first answer and writes nothing', async () => {
      const [first, second] = [await withKey('k'), await withKey('k')];
      expect(second.body).toEqual(first.body);
      expect(await stream()).toHaveLength(1);
    });

    it('holds for resends that race each other', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => withKey('race')));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(await stream()).toHaveLength(1);
    });

    it('refuses another body with the same key, and lets another credential use it', async () => {
      await withKey('mine');
      expect(await withKey('mine', { op_name: 'other' })).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      });
      const key = await app.aKey('writer');
      const other = await app.post(
        '/call/start',
        { start: aStart({ project_id }) },
        { key, headers: { 'idempotency-key': 'mine' } },
      );
      expect(other.status).toBe(200);
      expect(await stream()).toHaveLength(2);
    });

    it('forgets after 24 hours', async () => {
      const first = await withKey('old');
      await app.query(
        `UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE project_id = $1`,
        [project_id],
      );
      expect((await withKey('old')).body.id).not.toBe(first.body.id);
    });

    it('is swept away after that, and not before', async () => {
      await withKey('swept');
      await withKey('fresh');
      await app.query(
        `UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'swept'`,
      );
      await app.app.get(IdempotencySweeper).sweep();
      const left = await app.query(
        `SELECT key FROM idempotency_keys WHERE key IN ('swept', 'fresh')`,
      );
      expect(left).toEqual([{ key: 'fresh' }]);
    });

    it('does not remember a refusal', async () => {
      expect((await withKey('refused', { op_name: '' })).status).toBe(400);
      expect((await withKey('refused')).status).toBe(200);
    });

    it('costs no row when the write is an upsert by the client’s own id', async () => {
      await withKey('own', { id: 'own' });
      expect(
        await app.query('SELECT 1 FROM idempotency_keys WHERE project_id = $1', [project_id]),
      ).toEqual([]);
    });

    it('lets batches with the same calls in another order wait for each other', async () => {
      const ids = Array.from({ length: 1200 }, (_, i) => `c${i}`);
      const items = (order: string[]) => [
        ...order.map((id) => ({ mode: 'start', req: { start: aStart({ project_id, id }) } })),
        { mode: 'start', req: { start: aStart({ project_id }) } },
      ];
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          app.post(
            '/call/upsert_batch',
            { batch: items(n % 2 ? ids : ids.toReversed()) },
            { headers: { 'idempotency-key': `order-${n}` } },
          ),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    });

    it('covers a batch whose items have no ids', async () => {
      const send = () =>
        app.post(
          '/call/upsert_batch',
          {
            batch: [
              { mode: 'start', req: { start: aStart({ project_id }) } },
              { mode: 'start', req: { start: aStart({ project_id }) } },
            ],
          },
          { headers: { 'idempotency-key': 'batch' } },
        );
      expect((await send()).text).toBe((await send()).text);
      expect(await stream()).toHaveLength(2);
    });
  });

  describe('reading', () => {
    beforeEach(async () => {
      const items: [string, object][] = [
        [
          'a',
          {
            trace_id: 't1',
            op_name: `svc:///${project_id}/op/run:abc`,
            thread_id: 'th',
            turn_id: 'a',
            svc_run_id: 'r1',
          },
        ],
        [
          'b',
          {
            trace_id: 't1',
            parent_id: 'a',
            op_name: `svc:///${project_id}/op/run:def`,
            inputs: { ref: `svc:///${project_id}/object/x:1` },
          },
        ],
        [
          'c',
          {
            trace_id: 't1',
            parent_id: 'b',
            op_name: 'plain',
            inputs: { model: { name: 'gpt' } },
            svc_run_step: 5,
          },
        ],
        ['d', { trace_id: 't2', op_name: 'plain', display_name: 'shown' }],
      ];
      await app.post('/call/upsert_batch', {
        batch: items.map(([id, overrides], i) => ({
          mode: 'start',
          req: { start: aStart({ project_id, id, started_at: at(i), ...overrides }) },
        })),
      });
      await end({ id: 'd', output: { ref: `svc:///${project_id}/object/y:2` } });
    });

    it.each<[object, string[]]>([
      [{ trace_ids: ['t1'] }, ['a', 'b', 'c']],
      [{ trace_ids: [] }, ['a', 'b', 'c', 'd']],
      [{ call_ids: ['d', 'a', 'nope'] }, ['a', 'd']],
      [{ parent_ids: ['a', 'b'] }, ['b', 'c']],
      [{ trace_roots_only: true }, ['a', 'd']],
      [{ op_names: ['plain'] }, ['c', 'd']],
      [{ op_names: ['svc:///PROJECT/op/run:*'] }, ['a', 'b']],
      [{ op_names: ['svc:///PROJECT/op/run:abc', 'pla%'] }, ['a']],
      [{ input_refs: ['svc:///PROJECT/object/x:1'] }, ['b']],
      [{ input_refs: ['svc:///PROJECT/object/x'] }, []],
      [{ input_refs: ['none', 'svc:///PROJECT/object/x:1', 'none either'] }, ['b']],
      [{ input_refs: [], output_refs: ['none'] }, []],
      [{ output_refs: ['svc:///PROJECT/object/y:2'] }, ['d']],
      [{ thread_ids: ['th'] }, ['a']],
      [{ thread_ids: [] }, []],
      [{ turn_ids: ['a'] }, ['a']],
      [{ turn_ids: [] }, []],
      [{ svc_run_ids: ['r1'] }, ['a']],
      [{ svc_user_ids: ['nobody'] }, []],
      [{ trace_ids: ['t1'], trace_roots_only: true }, ['a']],
      [{ unknown_filter: ['x'] }, ['a', 'b', 'c', 'd']],
    ])('filters by %j', async (filter, ids) => {
      const named = JSON.parse(JSON.stringify(filter).replaceAll('PROJECT', project_id));
      expect(await idsOf({ filter: named })).toEqual(ids);
      expect((await app.post('/calls/query_stats', { project_id, filter: named })).body).toEqual({
        count: ids.length,
        has_more: false,
      });
    });

    it('sorts by columns and inside free-form JSON, nulls last, the id last of all', async () => {
      expect(await idsOf({ sort_by: [{ field: 'started_at', direction: 'desc' }] })).toEqual([
        'd',
        'c',
        'b',
        'a',
      ]);
      expect(await idsOf({ sort_by: [{ field: 'op_name', direction: 'asc' }] })).toEqual([
        'c',
        'd',
        'a',
        'b',
      ]);
      expect(await idsOf({ sort_by: [{ field: 'svc_run_step', direction: 'desc' }] })).toEqual([
        'c',
        'a',
        'b',
        'd',
      ]);
      expect(await idsOf({ sort_by: [{ field: 'inputs.model.name', direction: 'asc' }] })).toEqual([
        'c',
        'a',
        'b',
        'd',
      ]);
    });

    it('pages', async () => {
      expect(await idsOf({ limit: 2, offset: 1 })).toEqual(['b', 'c']);
      expect(await idsOf({ limit: 0 })).toEqual([]);
      expect((await app.post('/calls/query_stats', { project_id, limit: 3 })).body).toEqual({
        count: 3,
        has_more: true,
      });
      expect((await app.post('/calls/query_stats', { project_id, limit: 4 })).body).toEqual({
        count: 4,
        has_more: false,
      });
    });

    it('answers the columns asked for, and those that are always there', async () => {
      const [call] = await stream({
        columns: ['inputs.model.name', 'parent_id'],
        filter: { call_ids: ['c'] },
      });
      expect(Object.keys(call).toSorted()).toEqual([
        'id',
        'inputs',
        'op_name',
        'parent_id',
        'project_id',
        'started_at',
        'trace_id',
      ]);
    });

    it('answers the same calls as one object', async () => {
      const { body } = await app.post('/calls/query', { project_id, limit: 2 });
      expect(body.calls).toEqual(await stream({ limit: 2 }));
      expect((await app.post('/calls/query', { project_id: 'acme/nothing' })).body).toEqual({
        calls: [],
      });
    });

    it('answers every field of a call', async () => {
      expect(await read('d')).toEqual({
        id: 'd',
        project_id,
        op_name: 'plain',
        display_name: 'shown',
        trace_id: 't2',
        parent_id: null,
        thread_id: null,
        turn_id: null,
        started_at: '2026-01-01T00:00:03.000000Z',
        ended_at: expect.any(String),
        exception: null,
        attributes: {},
        inputs: {},
        output: { ref: `svc:///${project_id}/object/y:2` },
        summary: {
          svc: { status: 'success', latency_ms: expect.any(Number), trace_name: 'shown' },
        },
        svc_user_id: 'ada',
        svc_run_id: null,
        svc_run_step: null,
        svc_run_step_end: null,
        deleted_at: null,
      });
      expect((await read('a')).summary.svc.trace_name).toBe('run');
      expect((await read('c')).summary.svc.trace_name).toBe('plain');
    });

    it('an empty stream is 200 with an empty body', async () => {
      const answer = await app.post('/calls/stream_query', { project_id: 'acme/nothing' });
      expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
        200,
        '',
        'application/jsonl',
      ]);
    });

    it('a stream is x-ndjson for who asks for it', async () => {
      const answer = await app.post(
        '/calls/stream_query',
        { project_id },
        { headers: { accept: 'application/x-ndjson' } },
      );
      expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    });

    it.each<[string, object]>([
      ['limit', { limit: -1 }],
      ['offset', { offset: 'x' }],
      ['limit', { limit: 1.5 }],
      ['filter.trace_ids', { filter: { trace_ids: 't1' } }],
      ['filter.trace_ids[1]', { filter: { trace_ids: ['x', 5] } }],
      ['filter.call_ids', { filter: { call_ids: Array.from({ length: 1001 }, String) } }],
      ['filter', { filter: [] }],
      ['sort_by[0].direction', { sort_by: [{ field: 'id', direction: 'up' }] }],
      ['sort_by[0].field', { sort_by: [{ field: 'id; DROP TABLE calls', direction: 'asc' }] }],
      ['columns[0]', { columns: ['secret'] }],
      ['filter.input_refs[1]', { filter: { input_refs: ['a', 'a"b'] } }],
      ['filter.output_refs', { filter: { output_refs: Array(1001).fill('"') } }],
      ['query', { query: 'x' }],
      ['query.$expr', { query: { $expr: { $nope: [] } } }],
      ['project_id', { project_id: 'x' }],
    ])('refuses a bad %s: %j', async (path, query) => {
      for (const operation of ['/calls/stream_query', '/calls/query'])
        expect(await app.post(operation, { project_id, ...query })).toMatchObject({
          status: 400,
          body: { errors: [{ path }] },
        });
    });

    it('never reads another project, however true the query is', async () => {
      const always = {
        $expr: {
          $or: [{ $literal: true }, { $eq: [{ $getField: 'project_id' }, { $literal: 'x' }] }],
        },
      };
      const projectsSeen = (await stream({ query: always })).map((call) => call.project_id);
      expect(new Set(projectsSeen)).toEqual(new Set([project_id]));
    });

    it('reads a large call on a connection that may be held for long, a small one on any', async () => {
      const inputs = { text: randomBytes(100_000).toString('base64') }; // does not compress
      await start({ id: 'large', inputs });
      await start({ id: 'small', inputs: { text: 'x'.repeat(100_000) } });
      const taken = jest.spyOn(Slots.prototype, 'take');
      const takenByKeys = () => taken.mock.calls.filter(([key]) => key !== ''); // '' is the service itself
      expect((await read('small')).inputs.text).toHaveLength(100_000);
      expect(takenByKeys()).toEqual([]);
      expect((await read('large')).inputs).toEqual(inputs);
      expect(takenByKeys()).toHaveLength(1);
      taken.mockRestore();
    });

    it('reads null for a call that is not there', async () => {
      expect(await app.post('/call/read', { project_id, id: 'nope' })).toMatchObject({
        status: 200,
        body: { call: null },
      });
    });
  });

  describe('POST /call/update', () => {
    const update = (overrides: object) =>
      app.post('/call/update', { project_id, call_id: 'a', ...overrides });

    it('sets and takes away the display name', async () => {
      await start({ id: 'a', op_name: 'op' });
      expect(await update({ display_name: 'new' })).toMatchObject({ status: 200, body: {} });
      expect(await read('a')).toMatchObject({
        display_name: 'new',
        summary: { svc: { trace_name: 'new' } },
      });
      await update({ display_name: null });
      expect(await read('a')).toMatchObject({
        display_name: null,
        summary: { svc: { trace_name: 'op' } },
      });
    });

    it('is not lost when it overtakes the start', async () => {
      await update({ display_name: 'early' });
      expect(await read('a')).toBeNull();
      await start({ id: 'a' });
      expect((await read('a')).display_name).toBe('early');
    });

    it.each([
      { call_id: '' },
      { display_name: 5 },
      { display_name: 'x'.repeat(1025) },
      { project_id: 'x' },
    ])('refuses %j', async (bad) => {
      expect((await update({ display_name: 'x', ...bad })).status).toBe(400);
    });
  });

  unlessCluster('plans are those of one node').it(
    'reads the newest roots in order, however many calls the project has',
    async () => {
      await app.query(
        `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
       SELECT $1, 'c' || n, 't' || n / 10, nullif(n % 10, 0), 'op', now() + n * interval '1 s' FROM generate_series(1, 5000) n`,
        [project_id],
      );
      await app.query('VACUUM ANALYZE calls');
      const query = { project_id, limit: 50, filter: { trace_roots_only: true } };
      const { text, values } = callRows(query).query.toQuery();
      const plan = await app.query(`EXPLAIN ${text}`, values);
      const reads = plan.map((line) => line['QUERY PLAN'] as string);
      const calls = reads.filter((line) => / on calls( |_)/.test(line));
      expect(calls.length).toBeGreaterThan(0);
      for (const line of calls) expect(line).toContain('Index Scan using calls_started_idx');
    },
  );

  describe('POST /calls/delete', () => {
    const remove = (call_ids: unknown) => app.post('/calls/delete', { project_id, call_ids });

    it('removes a call with its descendants in the trace, and only those', async () => {
      await start({ id: 'root', trace_id: 't' });
      await start({ id: 'child', trace_id: 't', parent_id: 'root' });
      await start({ id: 'grandchild', trace_id: 't', parent_id: 'child' });
      await start({ id: 'other trace', trace_id: 'u', parent_id: 'root' });
      await start({ id: 'sibling', trace_id: 't' });
      expect((await remove(['root'])).body).toEqual({ num_deleted: 3 });
      expect(await idsOf()).toEqual(['other trace', 'sibling']);
      expect((await remove(['root', 'nope'])).body).toEqual({ num_deleted: 0 });
      expect(await read('child')).toBeNull();
    });

    unlessCluster('plans are those of one node').it(
      'looks children up by their parent, in a trace of any size',
      async () => {
        await app.query(
          `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
         SELECT $1, 'link ' || n, 'chain', 'link ' || n - 1, 'op', now() FROM generate_series(1, 2000) n`,
          [project_id],
        );
        await app.query('ANALYZE calls');
        const { text, values } = deleteQuery(
          project_id,
          ['link 1'],
          () => sql`'[]'::json`,
        ).toQuery();
        const plan = await app.query(`EXPLAIN ${text}`, values);
        const looks = plan
          .map((line) => line['QUERY PLAN'] as string)
          .filter((line) => / on calls(_parent_idx| c)/.test(line));
        expect(looks.join('\n')).toContain('calls_parent_idx');
        expect(looks.join('\n')).not.toContain('calls_trace_idx');
        expect((await remove(['link 1'])).body).toEqual({ num_deleted: 2000 });
      },
    );

    it('is not undone by a late start or end', async () => {
      await start({ id: 'a' });
      await remove(['a']);
      await start({ id: 'a' });
      await end({ id: 'a' });
      expect(await read('a')).toBeNull();
    });

    it('ends for parents that go round in a circle', async () => {
      await start({ id: 'x', trace_id: 't', parent_id: 'y' });
      await start({ id: 'y', trace_id: 't', parent_id: 'x' });
      expect((await remove(['x'])).body).toEqual({ num_deleted: 2 });
    });

    it('answers a resend with the same number under an Idempotency-Key', async () => {
      await start({ id: 'a' });
      const send = () =>
        app.post(
          '/calls/delete',
          { project_id, call_ids: ['a'] },
          { headers: { 'idempotency-key': 'del' } },
        );
      expect([(await send()).body, (await send()).body]).toEqual([
        { num_deleted: 1 },
        { num_deleted: 1 },
      ]);
    });

    it('touches no other project', async () => {
      await start({ id: 'shared' });
      const other = `${project_id}-other`;
      await app.post('/call/start', { start: aStart({ project_id: other, id: 'shared' }) });
      await remove(['shared']);
      expect(
        (await app.post('/call/read', { project_id: other, id: 'shared' })).body.call,
      ).not.toBeNull();
    });

    it.each([[[]], ['a'], [[5]], [Array.from({ length: 1001 }, String)]])(
      'refuses call_ids %#',
      async (ids) => {
        expect(await remove(ids)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      },
    );

    it('deletes while others write the same calls, without a deadlock', async () => {
      const ids = Array.from({ length: 30 }, (_, i) => `c${i}`);
      const write = () =>
        app.post('/call/upsert_batch', {
          batch: ids.toReversed().map((id) => ({
            mode: 'start',
            req: { start: aStart({ project_id, id, trace_id: 't' }) },
          })),
        });
      await write();
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) => (i % 3 ? write() : remove(ids))),
      );
      for (const { status } of answers) expect(status).toBe(200);
    });
  });
});
