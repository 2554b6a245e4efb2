import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { basic, send, openApp, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';

let app: TestApp;
/** A second app on the same database, which stands for another process. */
let otherUrl: string;
let closeOther: () => Promise<void>;
beforeAll(async () => {
  app = await startApp({ RETENTION_INTERVAL_SECONDS: '1' });
  const { app: other } = await openApp(app.databaseUrl);
  await other.listen(0, '127.0.0.1');
  otherUrl = `http://127.0.0.1:${(other.getHttpServer().address() as AddressInfo).port}`;
  closeOther = () => other.close();
});
afterAll(async () => {
  await closeOther();
  await app.close();
});

const project_id = 'acme/demo';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPANS = '/otel/v1/traces';
const LOGS = '/otel/v1/logs';
let spans = 0;
const aSpanId = () => `a${(++spans).toString(16).padStart(15, '0')}`;

type Any = { stringValue: string } | { kvlistValue: { values: { key: string; value: Any }[] } };
const anyOf = (value: string | object): Any =>
  typeof value === 'string'
    ? { stringValue: value }
    : {
        kvlistValue: {
          values: Object.entries(value).map(([key, inner]) => ({ key, value: anyOf(inner) })),
        },
      };
const attributesOf = (attributes: Record<string, string>) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyOf(value) }));

const START = 1767225600000000000n;
const aSpan = (spanId: string, attributes: Record<string, string> = {}, isRunning = false) => ({
  traceId: TRACE,
  spanId,
  name: 'chat',
  startTimeUnixNano: `${START}`,
  ...(!isRunning && { endTimeUnixNano: `${START + 1_000_000_000n}` }),
  attributes: attributesOf(attributes),
});
const aRecord = (spanId: string, eventName: string, body: object | string, at = 0) => ({
  timeUnixNano: `${START + BigInt(at)}`,
  traceId: TRACE,
  spanId,
  eventName,
  body: anyOf(body),
});
const question = (spanId: string, content: string, at = 1) =>
  aRecord(spanId, 'gen_ai.user.message', { content }, at);
const answer = (spanId: string, content: string, at = 2) =>
  aRecord(
    spanId,
    'gen_ai.choice',
    { finish_reason: 'stop', message: { role: 'assistant', content } },
    at,
  );
const details = (spanId: string, attributes: Record<string, string>, at = 3) => ({
  ...aRecord(spanId, 'gen_ai.client.inference.operation.details', {}, at),
  attributes: attributesOf(attributes),
});

const spansOf = (...list: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] });
const logsOf = (...list: object[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: list }] }] });
const toProject = { headers: { project_id } };
const post = async (path: string, body: object, url = app.url, dropped = 0) => {
  const told = await send(url + path, body, { authorization: basic(app.key), project_id });
  expect([told.status, told.body]).toEqual([200, dropped === 0 ? {} : saysDropped(dropped)]);
};
const saysDropped = (count: number) => ({
  partialSuccess: {
    rejectedLogRecords: `${count}`,
    errorMessage: expect.stringMatching(
      /^Skein stores log records with .*does not store other log records\.$/,
    ),
  },
});
const read = async (id: string, project = project_id) =>
  (await app.post('/call/read', { project_id: project, id })).body.call;
const saidOf = async (id: string) => {
  const { inputs, output } = await read(id);
  return { inputs, output };
};
const rowsOf = async (id: string, project = project_id) =>
  app.query('SELECT * FROM calls WHERE project_id = $1 AND id = $2', [project, id]);

const ASKED = { role: 'user', content: 'hi' };
const ANSWERED = { role: 'assistant', content: 'ho', finish_reason: 'stop' };

describe('messages in log records', () => {
  it.each([
    ['before the span', ['logs', 'span']],
    ['after the span', ['span', 'logs']],
    ['between its start and its end', ['start', 'logs', 'span']],
    ['twice', ['logs', 'logs', 'span', 'logs']],
    ['before a span that is sent again', ['span', 'logs', 'span', 'start']],
  ])('are those of the call when they come %s', async (_, steps) => {
    const id = aSpanId();
    for (const step of steps)
      if (step === 'logs') await post(LOGS, logsOf(answer(id, 'ho'), question(id, 'hi')));
      else await post(SPANS, spansOf(aSpan(id, {}, step === 'start')));
    expect(await saidOf(id)).toEqual({
      inputs: { messages: [ASKED] },
      output: { messages: [ANSWERED] },
    });
  });

  it('are in the order of their times, then of the request', async () => {
    const id = aSpanId();
    await post(LOGS, logsOf(question(id, 'third', 5), question(id, 'fourth', 5)));
    await post(SPANS, spansOf(aSpan(id)));
    await post(LOGS, logsOf(question(id, 'second', 4)));
    await post(LOGS, logsOf(aRecord(id, 'gen_ai.system.message', { content: 'first' }, 1)));
    const { messages } = (await read(id)).inputs;
    expect(messages.map(({ content }: { content: string }) => content)).toEqual([
      'first',
      'second',
      'third',
      'fourth',
    ]);
  });

  it('add to a call of which only the start was sent again', async () => {
    const id = aSpanId();
    await post(SPANS, spansOf(aSpan(id)));
    await post(LOGS, logsOf(answer(id, 'ho')));
    await post(SPANS, spansOf(aSpan(id, {}, true)));
    await post(LOGS, logsOf(answer(id, 'hum', 7)));
    expect((await read(id)).output).toEqual({
      messages: [ANSWERED, { ...ANSWERED, content: 'hum' }],
    });
  });

  it('count twice when they are the same twice', async () => {
    const id = aSpanId();
    await post(LOGS, logsOf(question(id, 'hi'), question(id, 'hi')));
    await post(SPANS, spansOf(aSpan(id)));
    expect((await read(id)).inputs).toEqual({ messages: [ASKED, ASKED] });
  });

  it('are whole in one event of an operation, of which the last one counts', async () => {
    const id = aSpanId();
    const told = {
      'gen_ai.input.messages': '[{"role":"user","parts":[]}]',
      'gen_ai.system_instructions': '[{"type":"text","content":"brief"}]',
    };
    await post(
      LOGS,
      logsOf(details(id, { 'gen_ai.output.messages': '[1.0]' }), question(id, 'no')),
    );
    await post(LOGS, logsOf(details(id, { 'gen_ai.input.messages': '[]' }, 1), details(id, told)));
    await post(SPANS, spansOf(aSpan(id)));
    expect(await saidOf(id)).toEqual({
      inputs: {
        messages: [{ role: 'user', parts: [] }],
        system_instructions: [{ type: 'text', content: 'brief' }],
      },
      output: { messages: [1] },
    });
    expect((await app.post('/call/read', { project_id, id })).text).toContain('[1.0]');
  });

  it.each([
    [
      'messages',
      { 'gen_ai.input.messages': '[{"role":"user","content":"own"}]' },
      { messages: [{ role: 'user', content: 'own' }] },
    ],
    ['all of its inputs', { 'input.value': '{"a":1}' }, { a: 1, messages: [ASKED] }],
    [
      'what PostgreSQL cannot read',
      { 'input.value': String.raw`{"a\u0000":"\ud800"}` },
      { 'a\0': '\ud800', messages: [ASKED] },
    ],
  ])('leave what the span says itself: %s', async (_, attributes, inputs) => {
    for (const isSpanFirst of [true, false]) {
      const id = aSpanId();
      if (isSpanFirst) await post(SPANS, spansOf(aSpan(id, attributes)));
      await post(LOGS, logsOf(question(id, 'hi')));
      if (!isSpanFirst) await post(SPANS, spansOf(aSpan(id, attributes)));
      await post(LOGS, logsOf(answer(id, 'ho')));
      expect(await saidOf(id)).toEqual({ inputs, output: { messages: [ANSWERED] } });
    }
  });

  it('leave an output that is no object', async () => {
    const id = aSpanId();
    await post(LOGS, logsOf(answer(id, 'ho')));
    await post(SPANS, spansOf(aSpan(id, { 'output.value': 'own' })));
    expect((await read(id)).output).toBe('own');
  });

  it('hold what PostgreSQL cannot read', async () => {
    const id = aSpanId();
    await post(SPANS, spansOf(aSpan(id)));
    await post(LOGS, logsOf(question(id, 'a\0b')));
    await post(LOGS, logsOf(question(id, 'c', 9)));
    expect((await read(id)).inputs.messages.map(({ content }: any) => content)).toEqual([
      'a\0b',
      'c',
    ]);
    const query = {
      $expr: { $eq: [{ $getField: 'inputs.messages.1.content' }, { $literal: 'c' }] },
    };
    const found = await app.post('/calls/query', { project_id, query, filter: { call_ids: [id] } });
    expect(found.body.calls).toHaveLength(1);
  });

  it('are found by queries', async () => {
    const id = aSpanId();
    await post(LOGS, logsOf(question(id, 'needle')));
    await post(SPANS, spansOf(aSpan(id)));
    const query = {
      $expr: { $eq: [{ $getField: 'inputs.messages.0.content' }, { $literal: 'needle' }] },
    };
    const { calls } = (await app.post('/calls/query', { project_id, query })).body;
    expect(calls.map((call: { id: string }) => call.id)).toEqual([id]);
  });

  it.each([
    ['of another trace', (id: string) => ({ ...question(id, 'hi'), traceId: 'f'.repeat(32) }), 0],
    ['without a trace', (id: string) => ({ ...question(id, 'hi'), traceId: undefined }), 1],
    ['without content', (id: string) => aRecord(id, 'gen_ai.user.message', {}), 1],
    [
      'of another kind',
      (id: string) => aRecord(id, 'app.gen_ai.user.message', { content: 'hi' }),
      1,
    ],
  ])('are not given to the call: %s', async (_, recordOf, dropped) => {
    const id = aSpanId();
    await post(LOGS, logsOf(recordOf(id)), app.url, dropped);
    await post(SPANS, spansOf(aSpan(id)));
    await post(LOGS, logsOf(recordOf(id)), app.url, dropped);
    expect(await saidOf(id)).toEqual({ inputs: {}, output: null });
  });

  it('come with the name in an attribute, zipped, and on the other address', async () => {
    const id = aSpanId();
    const { eventName, ...record } = question(id, 'hi');
    const attributes = attributesOf({ 'event.name': eventName });
    const body = gzipSync(JSON.stringify(logsOf({ ...record, attributes })));
    const headers = { project_id, 'content-encoding': 'gzip' };
    expect((await app.post('/v1/logs', body, { headers })).text).toBe('{}');
    await post(SPANS, spansOf(aSpan(id)));
    expect((await read(id)).inputs).toEqual({ messages: [ASKED] });
  });
});

describe.each(['openai-v2-events', 'openai-v2-details'])('the recording %s', (name) => {
  it('becomes calls that say what was said, in JSON and in any order', async () => {
    const file = JSON.parse(readFileSync(`test/fixtures/otlp/${name}.json`, 'utf8'));
    const records = file.logs.map(({ record }: { record: object }) => record);
    const sent = file.spans.map(({ span }: { span: object }) => span);
    const project = `acme/${name}`;
    const options = { headers: { project_id: project } };
    for (const one of [...records.slice(1), ...sent, records[0]])
      await app.post(
        ...((one.startTimeUnixNano ? [SPANS, spansOf(one)] : [LOGS, logsOf(one)]) as [
          string,
          object,
        ]),
        options,
      );
    const { calls } = (await app.post('/calls/query', { project_id: project })).body;
    const contentOf = ({ content, parts, tool_calls: asked }: any) =>
      content ??
      asked?.[0].function.arguments ??
      (typeof parts?.[0].arguments === 'object'
        ? JSON.stringify(parts[0].arguments)
        : (parts?.[0].content ?? parts?.[0].response));
    const said = (messages: any[] | undefined) =>
      messages?.map((one) => `${one.role}: ${contentOf(one)}`);
    expect(
      calls.map(({ inputs, output }: any) => [said(inputs.messages), said(output?.messages)]),
    ).toEqual([
      [['system: Be brief.', 'user: How is the weather in Rome?'], ['assistant: {"city":"Rome"}']],
      [
        [
          'system: Be brief.',
          'user: How is the weather in Rome?',
          'assistant: {"city":"Rome"}',
          'tool: {"sky":"sunny"}',
        ],
        ['assistant: It is sunny.'],
      ],
      [undefined, undefined],
    ]);
  });
});

/** The parts of a call that determine its messages (docs/adr/0059-messages-in-logs.md). */
interface Case {
  own: Record<string, string>;
  /** Content and time of each question; `answered` has the same for answers. */
  asked: [content: string, at: number][];
  answered: [content: string, at: number][];
  details: string | null;
}
const expectedOf = ({ own, asked, answered, details: whole }: Case) => {
  const inOrder = (list: Case['asked']) => list.toSorted(([, a], [, b]) => a - b);
  const messages = whole
    ? JSON.parse(whole)
    : inOrder(asked).map(([content]) => ({ role: 'user', content }));
  const choices = inOrder(answered).map(([content]) => ({ ...ANSWERED, content }));
  const ownMessages = own['gen_ai.input.messages'];
  const inputs = ownMessages ? JSON.parse(ownMessages) : messages;
  return {
    inputs: inputs.length > 0 || ownMessages ? { messages: inputs } : {},
    output: choices.length > 0 ? { messages: choices } : null,
  };
};

it('log records make the same call in every order, at the same time, in other processes and when sent again', async () => {
  const told = fc.uniqueArray(
    fc.tuple(
      fc.string({ minLength: 1, unit: 'grapheme-ascii' }),
      fc.integer({ min: 1, max: 1000 }),
    ),
    {
      maxLength: 4,
      selector: ([, at]) => at,
    },
  );
  const aCase = fc.record({
    own: fc.constantFrom<Case['own']>(
      {},
      { 'gen_ai.input.messages': '[{"role":"user","content":"own"}]' },
    ),
    asked: told,
    answered: told,
    details: fc.option(fc.constant('[{"role":"user","parts":[]}]')),
  });
  const plan = fc.array(fc.tuple(fc.nat(), fc.boolean(), fc.boolean()), {
    minLength: 24,
    maxLength: 24,
  });
  await fc.assert(
    fc.asyncProperty(aCase, plan, async (one, steps) => {
      const id = aSpanId();
      const records = [
        ...one.asked.map(([content, at]) => question(id, content, at)),
        ...one.answered.map(([content, at]) => answer(id, content, at)),
        ...(one.details ? [details(id, { 'gen_ai.input.messages': one.details })] : []),
      ];
      const requests: [string, object][] = [
        [SPANS, spansOf(aSpan(id, {}, true))],
        ...records.map((record): [string, object] => [LOGS, logsOf(record)]),
        ...(records.length > 1 ? [[LOGS, logsOf(...records.slice(0, 2))] as [string, object]] : []),
      ];
      const planned = requests
        .map((request, i) => ({ request, step: steps[i]! }))
        .toSorted((a, b) => a.step[0] - b.step[0]);
      // the end comes after the start, since a later start would make another span
      const start = planned.findIndex(({ request: [path] }) => path === SPANS);
      const at = start + 1 + (steps.at(-1)![0] % (planned.length - start));
      planned.splice(at, 0, {
        request: [SPANS, spansOf(aSpan(id, one.own))],
        step: [0, steps.at(-1)![1], false],
      });
      let running: Promise<void>[] = [];
      for (const {
        request: [path, body],
        step: [, isOther, isAlone],
      } of planned) {
        if (isAlone || path === SPANS) await Promise.all(running.splice(0));
        running.push(post(path, body, isOther ? otherUrl : app.url));
      }
      await Promise.all(running);
      expect(await saidOf(id)).toEqual(expectedOf(one));
    }),
    {
      numRuns: 40,
      // a question and its answer of one moment come alone and together
      examples: [
        [
          { own: {}, asked: [['a', 5]], answered: [['a', 5]], details: null },
          Array.from({ length: 24 }, (): [number, boolean, boolean] => [0, false, false]),
        ],
      ],
    },
  );
});

it('log records lose nothing when they and spans of many calls come at the same time', async () => {
  const ids = Array.from({ length: 60 }, aSpanId);
  await Promise.all(
    ids.flatMap((id, i) => [
      post(SPANS, spansOf(aSpan(id)), i % 2 ? otherUrl : app.url),
      post(LOGS, logsOf(question(id, 'hi')), i % 3 ? otherUrl : app.url),
      post(LOGS, logsOf(answer(id, 'ho')), i % 5 ? otherUrl : app.url),
      post(LOGS, logsOf(question(id, 'hi'), answer(id, 'ho')), app.url),
    ]),
  );
  for (const id of ids)
    expect(await saidOf(id)).toEqual({
      inputs: { messages: [ASKED] },
      output: { messages: [ANSWERED] },
    });
});

describe('log records', () => {
  it('do not reach another project', async () => {
    const id = aSpanId();
    await post(SPANS, spansOf(aSpan(id)));
    const key = await app.aKey('writer', ['acme/other']);
    expect((await app.post(LOGS, logsOf(question(id, 'hi')), { key })).text).toBe('{}');
    expect((await app.post(LOGS, logsOf(question(id, 'hi')), { key, ...toProject })).status).toBe(
      403,
    );
    expect((await read(id)).inputs).toEqual({});
    expect(await rowsOf(id, 'acme/other')).toHaveLength(1);
    expect(await read(id, 'acme/other')).toBeNull();
  });

  it('need a project when they carry messages', async () => {
    const key = await app.aKey('writer', ['acme/*']);
    const refused = await app.post(LOGS, logsOf(question(aSpanId(), 'hi')), { key });
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'project_id']);
    const other = aRecord(aSpanId(), 'gen_ai.client.operation.exception', 'about gen_ai.');
    expect((await app.post(LOGS, logsOf(other), { key })).body).toEqual(saysDropped(1));
  });

  it('of other things are told beside those that are kept, and beside those that are wrong', async () => {
    const id = aSpanId();
    const other = { ...aRecord(id, '', 'GET /'), eventName: undefined };
    await post(LOGS, logsOf(other, question(id, 'hi'), other, answer(id, 'ho')), app.url, 2);
    await post(SPANS, spansOf(aSpan(id)));
    expect(await saidOf(id)).toEqual({
      inputs: { messages: [ASKED] },
      output: { messages: [ANSWERED] },
    });
    const bad = { ...question(id, 'hi'), traceId: 'x' };
    const { body } = await app.post(LOGS, logsOf(other, bad, question(id, 'hi'), other), toProject);
    expect(body.partialSuccess).toEqual({
      rejectedLogRecords: '3',
      errorMessage: expect.stringMatching(/hexadecimal; Skein stores log records with /),
    });
  });

  it('need a key that may write', async () => {
    const key = await app.aKey('reader');
    expect((await app.post(LOGS, logsOf(), { key, ...toProject })).status).toBe(403);
  });

  it.each<[string, string, string, string]>([
    ['JSON that is none', 'application/json', '{"gen_ai."', '400 invalid_json'],
    ['protobuf that is none', 'application/x-protobuf', 'gen_ai.', '400 invalid_request'],
    ['another shape', 'application/json', '{"resourceLogs":"gen_ai."}', '400 invalid_request'],
    ['another media type', 'text/plain', 'gen_ai.', '415 unsupported_media_type'],
  ])('are refused in %s', async (_, type, body, expected) => {
    const told = await app.post(LOGS, body, { headers: { project_id, 'content-type': type } });
    expect(`${told.status} ${told.body.code}`).toBe(expected);
  });

  it('have a limit for each span: what is over it is told, what is there stays', async () => {
    const id = aSpanId();
    await post(SPANS, spansOf(aSpan(id)));
    await post(LOGS, logsOf(...Array.from({ length: 1999 }, (_, i) => question(id, `${i}`, i))));
    const many = await app.post(
      LOGS,
      logsOf(question(id, 'a', 3000), question(id, 'b', 3000)),
      toProject,
    );
    expect(many.body.partialSuccess).toEqual({
      rejectedLogRecords: '2',
      errorMessage: expect.stringContaining('2000'),
    });
    await post(LOGS, logsOf(question(id, 'last', 3000)));
    const full = await app.post(LOGS, logsOf(question(id, 'c', 3000)), toProject);
    expect(full.body.partialSuccess.rejectedLogRecords).toBe('1');
    await post(LOGS, logsOf(question(id, 'last', 3000))); // accepted, because it is stored already
    const { messages } = (await read(id)).inputs;
    expect([messages.length, messages.at(-1).content]).toEqual([2000, 'last']);
    const large = question(id, 'x'.repeat(4 * 1024 * 1024), 3000);
    const told = await app.post(LOGS, logsOf(large, question(aSpanId(), 'good')), toProject);
    expect(told.body.partialSuccess.rejectedLogRecords).toBe('1');
  });
});

it('are stored in parts where a request holds more than may wait to be stored', async () => {
  const ids = Array.from({ length: 5 }, aSpanId);
  const content = '"'.repeat(1_900_000); // each character is stored as four
  await post(LOGS, logsOf(...ids.map((id) => question(id, content))));
  for (const id of ids) expect((await rowsOf(id))[0].logged).toHaveLength(1);
});

describe('log records without a span', () => {
  const isAwaited = async (id: string, project = project_id) =>
    (await rowsOf(id, project)).length === 1;

  it('are no call, are forgotten after a day, and are none of the span that comes then', async () => {
    const [old, young] = [aSpanId(), aSpanId()];
    await post(LOGS, logsOf(question(old, 'hi'), question(young, 'hi')));
    await app.query(`UPDATE calls SET logged_at = now() - interval '25 hours' WHERE id = $1`, [
      old,
    ]);
    expect(await read(old)).toBeNull();
    await until(async () => !(await isAwaited(old)));
    expect(await isAwaited(young)).toBe(true);
    await post(SPANS, spansOf(aSpan(old), aSpan(young)));
    expect([(await read(old)).inputs, (await read(young)).inputs]).toEqual([
      {},
      { messages: [ASKED] },
    ]);
  });

  it('stay with their call, however old they are', async () => {
    const [id, forgotten] = [aSpanId(), aSpanId()];
    await post(LOGS, logsOf(question(id, 'hi'), question(forgotten, 'hi')));
    await post(SPANS, spansOf(aSpan(id)));
    await app.query(
      `UPDATE calls SET logged_at = now() - interval '25 hours' WHERE id IN ($1, $2)`,
      [id, forgotten],
    );
    await until(async () => !(await isAwaited(forgotten)));
    await post(SPANS, spansOf(aSpan(id)));
    expect((await read(id)).inputs).toEqual({ messages: [ASKED] });
  });

  it('give way in the order in which they came where too many wait', async () => {
    const project = 'acme/waits';
    await app.query(
      `INSERT INTO calls (project_id, id, logged, logged_at, has_unread_usage)
        SELECT $1, 'b' || i, '[]', now() - make_interval(secs => 30000 - i), false FROM generate_series(1, 20000) i`,
      [project],
    );
    const records = Array.from({ length: 1000 }, () => question(aSpanId(), 'x'));
    const headers = { project_id: project };
    expect((await app.post(LOGS, logsOf(...records), { headers })).text).toBe('{}');
    const rows = await app.query(
      `SELECT id FROM calls WHERE project_id = $1 ORDER BY logged_at, id`,
      [project],
    );
    expect([rows.length, rows[0].id]).toEqual([20_000, 'b1001']);
  });

  it('are erased with the payloads of their call', async () => {
    const project = 'acme/short';
    const id = aSpanId();
    const options = { headers: { project_id: project } };
    await app.post(LOGS, logsOf(question(id, 'hi')), options);
    await app.post(SPANS, spansOf(aSpan(id)), options);
    expect((await read(id, project)).inputs).toEqual({ messages: [ASKED] });
    await app.post('/retention/set', { project_id: project, payload_days: 1 });
    await until(async () => (await rowsOf(id, project))[0].logged === null);
    expect(await rowsOf(id, project)).toEqual([
      expect.objectContaining({ inputs: {}, logged: null, own_inputs: null, own_output: null }),
    ]);
  });

  it('are erased with their project', async () => {
    const project = 'acme/gone';
    const id = aSpanId();
    await app.post(LOGS, logsOf(question(id, 'hi')), { headers: { project_id: project } });
    expect(await isAwaited(id, project)).toBe(true);
    await app.post('/project/delete', { project_id: project });
    await until(async () => !(await isAwaited(id, project)));
  });
});
