import * as fc from 'fast-check';
import { memberElements, valueAt } from '../../src/platform/json/json-text.js';
import { linesOf, useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { jsonTexts } from '../support/json-texts.js';

/** Makes a text valid as a name. */
const wellFormed = (text: string) => Buffer.from(text.replaceAll('\0', '-')).toString();

describe('what is stored of a call', () => {
  const app = useApp();
  const calls = useCalls(app);

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
    const sent = `{"start":{"project_id":"${calls.project_id}","id":"a","op_name":"x","started_at":"2026-01-01","inputs":${json},"attributes":${json}}}`;
    expect((await app.post('/call/start', sent)).status).toBe(200);
    const done = `{"end":{"project_id":"${calls.project_id}","id":"a","ended_at":"2026-01-02","output":${json},"summary":${json}}}`;
    expect((await app.post('/call/end', done)).status).toBe(200);
    const { text } = await app.post('/call/read', { project_id: calls.project_id, id: 'a' });
    expect(valueAt(text, 'call', 'inputs')).toBe(json);
    expect(valueAt(text, 'call', 'attributes')).toBe(json);
    expect(valueAt(text, 'call', 'output')).toBe(json);
    expect(valueAt(text, 'call', 'summary').startsWith(json.slice(0, -1).trimEnd())).toBe(true);
  });

  it.each(['1.0', '"text"', 'false', '[1.50]', String.raw`"\u0000"`, '-0'])(
    'keeps the output %s',
    async (json) => {
      await calls.start({ id: 'a' });
      await app.post(
        '/call/end',
        `{"end":{"project_id":"${calls.project_id}","id":"a","ended_at":"2026-01-02","output":${json}}}`,
      );
      const { text } = await app.post('/call/read', { project_id: calls.project_id, id: 'a' });
      expect(valueAt(text, 'call', 'output')).toBe(json);
    },
  );

  it('is one line in a stream even when it was sent on several', async () => {
    const json = '{\n  "a": 1,\r\n  "b": "\\n"\n}';
    await app.post(
      '/call/start',
      `{"start":{"project_id":"${calls.project_id}","op_name":"x","started_at":"2026-01-01","inputs":${json}}}`,
    );
    const answer = await app.post('/calls/stream_query', { project_id: calls.project_id });
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
      const names = `"project_id":"${calls.project_id}","id":"call-${String(i).padStart(3, '0')}"`;
      return [
        `{"mode":"start","req":{"start":{${names}${spelled(started)}}}}`,
        ...('ended_at' in ended
          ? [`{"mode":"end","req":{"end":{${names}${spelled(ended)}}}}`]
          : []),
      ];
    });
    const { body } = await app.post('/call/upsert_batch', `{"batch":[${items.join(',')}]}`);
    expect(body.res.filter((item: object) => 'error' in item)).toEqual([]);

    const sorted = { project_id: calls.project_id, sort_by: [{ field: 'id', direction: 'asc' }] };
    const lines = (await app.post('/calls/stream_query', sorted)).text.trimEnd().split('\n');
    const priced = (await app.post('/calls/stream_query', { ...sorted, include_costs: true })).text;
    const array = memberElements((await app.post('/calls/query', sorted)).text, 'calls');
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
      const { text } = await app.post('/call/read', { project_id: calls.project_id, id });
      expect(JSON.parse(whole)).toEqual(JSON.parse(text).call); // PostgreSQL composed this answer
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
    await calls.start({ id: 'a', op_name });
    const [streamed] = await calls.stream();
    expect(streamed.summary.svc.trace_name).toBe(name ?? op_name);
    expect((await calls.read('a')).summary.svc.trace_name).toBe(name ?? op_name);
  });

  it('keeps microseconds, and reads a time without offset as UTC', async () => {
    await calls.start({ id: 'a', started_at: '2026-01-31T12:00:00.123456' });
    await calls.end({ id: 'a', ended_at: '2026-01-31T14:00:00.123457+02:00' });
    const call = await calls.read('a');
    expect(call).toMatchObject({
      started_at: '2026-01-31T12:00:00.123456Z',
      ended_at: '2026-01-31T12:00:00.123457Z',
    });
    expect(call.summary.svc.latency_ms).toBe(0.001);
  });
});
