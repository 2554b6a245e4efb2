import { linesOf, useApp } from '../../support/app.js';
import { anEnd, aStart, at } from '../../support/factories.js';
import { refreshed } from '../../support/refreshed.js';

const app = useApp();

const project_id = 'acme/demo';
const PATH = `/v2/${project_id}`;
const read = async (id: string) => (await app.post('/call/read', { project_id, id })).body.call;
const aCall = (overrides: object = {}) => ({ ...aStart(), ...anEnd(), ...overrides });

describe('POST /v2/{entity}/{project}/calls/complete', () => {
  const complete = (batch: unknown, options = {}) =>
    app.post(`${PATH}/calls/complete`, { batch }, options);

  it('stores whole calls with everything they bring', async () => {
    const call = {
      id: 'whole',
      trace_id: 't',
      parent_id: 'p',
      thread_id: 'th',
      turn_id: 'whole',
      display_name: 'a name',
      attributes: { a: 1 },
      inputs: { b: [2] },
      output: { c: null },
      summary: { usage: { m: { prompt_tokens: 1 } }, status_counts: { error: 1 } },
      svc_run_id: 'r',
      svc_run_step: 1,
      svc_run_step_end: 2,
    };
    expect((await complete([aCall(call)])).text).toBe('{}');
    const { summary, ...rest } = call;
    expect(await read('whole')).toMatchObject({
      ...rest,
      project_id,
      op_name: 'work',
      started_at: '2026-01-01T00:00:00.000000Z',
      ended_at: '2026-01-01T00:00:01.000000Z',
      exception: null,
      svc_user_id: 'ada',
      summary: { ...summary, svc: { status: 'descendant_error', latency_ms: 1000 } },
    });
  });

  it('answers free-form JSON as it was sent', async () => {
    const inputs = '{"b": 12345678901234567890, "a":1.0,"__proto__":{"x":1}}';
    const output = '[1e2,"\\u0000","\\ud800"]';
    const start = JSON.stringify(aCall({ id: 'exact' })).slice(0, -1);
    const { status } = await app.post(
      `${PATH}/calls/complete`,
      `{"batch":[${start},"inputs":${inputs},"output":${output}}]}`,
    );
    expect(status).toBe(200);
    const { text } = await app.post('/call/read', { project_id, id: 'exact' });
    expect(text).toContain(`"inputs":${inputs}`);
    expect(text).toContain(`"output":${output}`);
  });

  it('lists what it refuses of a batch, stores the rest, and answers 422, at which clients look', async () => {
    const other = await app.aKey('writer', ['acme/demo']);
    const { status, body } = await complete(
      [
        aCall({ id: 'good-1' }),
        null,
        aCall({ id: 'no-end', ended_at: undefined }),
        aCall({ id: 'no-op', op_name: undefined }),
        aCall(),
        aCall({ id: 'elsewhere', project_id: 'acme/other' }),
        aCall({ id: 'bad-step', svc_run_step: -1 }),
        aCall({ id: 'good-2', trace_id: undefined, parent_id: 'good-1' }),
      ],
      { key: other },
    );
    expect([status, body.code]).toEqual([422, 'items_refused']);
    expect(body.detail).toBe(
      '6 of 8 items refused, the others are stored: batch[1]: must be an object',
    );
    expect(body.errors.map(({ path, code }: any) => [path, code])).toEqual([
      ['batch[1]', 'invalid_request'],
      ['batch[2]', 'invalid_request'],
      ['batch[3]', 'invalid_request'],
      ['batch[4]', 'invalid_request'],
      ['batch[5]', 'forbidden'],
      ['batch[6]', 'invalid_request'],
    ]);
    expect(body.errors[1]).toMatchObject({ id: 'no-end', message: 'ended_at is required' });
    const parent = await read('good-1');
    expect((await read('good-2')).trace_id).toBe(parent.trace_id);
    for (const id of ['no-end', 'no-op', 'elsewhere', 'bad-step'])
      expect(await read(id)).toBeNull();
  });

  it.each([
    ['is long', 'x'.repeat(1280)],
    [
      'has as many bytes as fit, none alike',
      Array.from({ length: 640 }, (_, i) => String.fromCodePoint(0x100 + ((i * 7919) % 1700))).join(
        '',
      ),
    ],
    ['has control characters', 'a subject\tof\r\nmail\u0001'],
  ])('stores a thread whole whose id %s, and finds it', async (name, thread_id) => {
    // the longest project name and call id: all three have to fit into one index entry
    const project_id = `${'e'.repeat(128)}/${'p'.repeat(128)}`;
    const id = Array.from({ length: 256 }, (_, i) => String.fromCodePoint(0x20000 + i * 37)).join(
      '',
    );
    const call = aCall({
      project_id,
      id,
      thread_id,
      turn_id: id,
      trace_id: 't',
      display_name: name,
    });
    const answer = await app.post(`/v2/${project_id}/calls/complete`, { batch: [call] });
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    const found = async (filter: object) =>
      (await app.post('/calls/query', { project_id, filter })).body.calls;
    expect(await found({ thread_ids: [thread_id] })).toMatchObject([
      { id, thread_id, turn_id: id },
    ]);
    expect(await found({ turn_ids: [id], thread_ids: [thread_id] })).toHaveLength(1);
    const threads = async (filter?: object) =>
      linesOf(await app.post('/threads/stream_query', { project_id, filter }));
    expect(await threads({ thread_ids: [thread_id] })).toMatchObject([
      { thread_id, turn_count: 1 },
    ]);
    await refreshed(app, 'threads');
    expect(await app.query('SELECT FROM thread_marks WHERE project_id = $1', [project_id])).toEqual(
      [],
    );
    expect(await threads({ thread_ids: [thread_id] })).toMatchObject([
      { thread_id, first_turn_id: id },
    ]);
    const [all] = await threads();
    const after = [all.last_updated, all.thread_id];
    const behind = await app.post('/threads/stream_query', { project_id, after });
    expect(behind.status).toBe(200);
  });

  it.each([
    ['thread_id', 'é'.repeat(640) + 'x', '1280 bytes'],
    ['thread_id', 'a\0b', '\\u0000'],
    ['thread_id', '\ud800', '\\u0000'],
    ['turn_id', 'x'.repeat(1281), '1280 bytes'],
  ])('refuses the %s %j, and names the call and the limit', async (name, value, limit) => {
    const { status, body } = await complete([
      aCall({ id: 'refused', [name]: value }),
      aCall({ id: 'kept' }),
    ]);
    expect(status).toBe(422);
    expect(body.detail).toContain(`batch[0] (id refused): ${name} must be`);
    expect(body.detail).toContain(limit);
    expect(await read('kept')).not.toBeNull();
  });

  it('cuts a long exception at a character, and says so at its end', async () => {
    const exception = `${'x'.repeat(1_048_511)}😀${'y'.repeat(1_000_000)}`;
    expect((await complete([aCall({ id: 'long', exception })])).text).toBe('{}');
    const mark = '… [cut by Skein: 1,048,511 of 2,048,515 bytes]';
    expect((await read('long')).exception).toBe('x'.repeat(1_048_511) + mark);
    const cut = (await read('long')).exception;
    await complete([aCall({ id: 'again', exception: cut })]);
    expect((await read('again')).exception).toBe(cut);
    const whole = '字'.repeat(1024 * 1024);
    await complete([aCall({ id: 'whole', exception: whole })]);
    expect((await read('whole')).exception).toBe(whole);
    await app.post('/call/end', { end: anEnd({ id: 'long', exception }) });
    expect((await read('long')).exception).toBe('x'.repeat(1_048_511) + mark);
  });

  it('refuses a call of another project even to a key that reaches it', async () => {
    const { body } = await complete([aCall({ id: 'x', project_id: 'acme/other' })]);
    expect(body.errors).toEqual([
      {
        path: 'batch[0]',
        id: 'x',
        code: 'invalid_request',
        message: 'project_id must be the project of the path',
      },
    ]);
  });

  it('may be sent again, and joins starts and ends that came by other ways', async () => {
    await app.post('/call/start', { start: aStart({ id: 'joined', op_name: 'early' }) });
    await complete([aCall({ id: 'joined', output: 1 }), aCall({ id: 'joined', output: 2 })]);
    await complete([aCall({ id: 'joined', output: 3 })]);
    expect(await read('joined')).toMatchObject({ op_name: 'work', output: 3 });
    const { count } = (
      await app.post('/calls/query_stats', { project_id, filter: { call_ids: ['joined'] } })
    ).body;
    expect(count).toBe(1);
  });

  it('refuses too large a batch', async () => {
    const { status, body } = await complete(Array.from({ length: 10_001 }, () => 0));
    expect([status, body.code]).toEqual([413, 'too_large']);
  });
});

describe('POST /v2/{entity}/{project}/call/start and /call/end', () => {
  it('record a call in two steps', async () => {
    const { body } = await app.post(`${PATH}/call/start`, { start: aStart({ id: 'two' }) });
    expect(body).toEqual({ id: 'two', trace_id: expect.any(String) });
    const end = await app.post(`${PATH}/call/end`, { end: anEnd({ id: 'two', output: 'o' }) });
    expect([end.status, end.body]).toEqual([200, {}]);
    expect(await read('two')).toMatchObject({ output: 'o', ended_at: expect.any(String) });
  });

  it('answer 404 to the end of a call that has not started', async () => {
    const { status, body } = await app.post(`${PATH}/call/end`, { end: anEnd({ id: 'unknown' }) });
    expect([status, body.code]).toEqual([404, 'not_found']);
    expect(await app.query("SELECT 1 FROM calls WHERE id = 'unknown'")).toEqual([]);
  });

  it('refuse a body about another project than the path', async () => {
    const project_id = 'acme/other';
    const bodies = [
      ['start', { start: aStart({ project_id }) }],
      ['end', { end: anEnd({ id: 'two', project_id }) }],
    ] as const;
    for (const [name, body] of bodies) {
      const answer = await app.post(`${PATH}/call/${name}`, body);
      expect(answer.status).toBe(400);
      expect(answer.body.errors[0].path).toBe('project_id');
    }
  });
});

describe.each<[string, object]>([
  ['calls/complete', { batch: [] }],
  ['call/start', { start: aStart() }],
  ['call/end', { end: anEnd({ id: 'x' }) }],
])('POST /v2/{entity}/{project}/%s', (operation, body) => {
  it('needs a key that may write to the project of the path', async () => {
    const path = `${PATH}/${operation}`;
    const reader = await app.aKey('reader');
    const stranger = await app.aKey('writer', ['else/*']);
    expect((await app.post(path, body, { key: 'nonsense' })).status).toBe(401);
    expect((await app.post(path, body, { key: reader })).status).toBe(403);
    expect((await app.post(path, body, { key: stranger })).status).toBe(403);
  });

  it('refuses a path that names no project', async () => {
    const { status, body: problem } = await app.post(`/v2/a%20b/demo/${operation}`, body);
    expect([status, problem.code]).toEqual([400, 'invalid_request']);
  });

  it('refuses a body without its member', async () => {
    expect((await app.post(`${PATH}/${operation}`, {})).status).toBe(400);
  });
});

it('reads times and steps from the whole call', async () => {
  await app.post(`${PATH}/calls/complete`, {
    batch: [aCall({ id: 'micro', started_at: '2026-01-01T00:00:00.123456Z', ended_at: at(2) })],
  });
  expect(await read('micro')).toMatchObject({
    started_at: '2026-01-01T00:00:00.123456Z',
    summary: { svc: { latency_ms: 1876.544 } },
  });
});
