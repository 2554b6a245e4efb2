import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import OpenAI from 'openai';
import { startApp, type TestApp } from '../support/app.js';
import { eventsOf, LONG_LOGPROB, startEngine, type TestEngine } from '../support/engine.js';
import { previewOf } from '../support/preview.js';
import { until } from '../support/until.js';

const project_id = 'acme/demo';
const SECRET = 'sk-secret-of-the-operator';

let engine: TestEngine;
let app: TestApp;
let key: string;

beforeAll(async () => {
  engine = await startEngine();
  const provider = (name: string, more: object) => ({ name, base_url: engine.url, ...more });
  app = await startApp({
    TEST_ENGINE_KEY: SECRET,
    GATEWAY_MAX_ANSWER_BYTES: '200000',
    GATEWAY_PROVIDERS: JSON.stringify([
      provider('plain', {
        models: ['gpt-4o-mini', 'o*'],
        api_key_env: 'TEST_ENGINE_KEY',
        first_byte_seconds: 1,
        idle_seconds: 1,
      }),
      provider('vllm', { models: ['Qwen/Q'], engine: 'vllm' }),
      provider('sglang', { models: ['Qwen/S'], engine: 'sglang' }),
      { name: 'away', base_url: 'http://127.0.0.1:1/v1', models: ['away'] },
    ]),
  });
  key = await app.aKey('writer', [project_id]);
});
afterAll(async () => {
  await app.close();
  await engine.close();
});

const client = (options: object = {}) =>
  new OpenAI({ baseURL: `${app.url}/v1`, apiKey: key, maxRetries: 0, ...options });
const messages = [{ role: 'user' as const, content: 'Say hello' }];
const read = async (id: string) =>
  (await app.post('/call/read', { project_id, id, include_costs: true })).body.call;
const text = async (id: string) => (await app.post('/call/read', { project_id, id })).text;
const newest = async (query: object = {}) =>
  (
    await app.post('/calls/query', {
      project_id,
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      limit: 1,
      ...query,
    })
  ).body.calls[0];

const json = (response: Response): Promise<any> => response.json();

/** A request as it is, with the bytes of its answer. */
const post = (body: unknown, headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
  fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('POST /v1/chat/completions', () => {
  it('passes an answer, and records it with what it cost', async () => {
    const { data, response } = await client()
      .chat.completions.create({ model: 'gpt-4o-mini', messages, temperature: 0.5 })
      .withResponse();
    expect(data.choices[0]!.message.content).toBe('Hello world');
    expect(engine.last).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${SECRET}` },
      body: { model: 'gpt-4o-mini', messages, temperature: 0.5 },
    });
    const call = await read(response.headers.get('x-skein-call-id')!);
    expect(call).toMatchObject({
      op_name: 'gateway.chat.completions',
      inputs: { model: 'gpt-4o-mini', messages, temperature: 0.5 },
      output: { id: 'cmpl-1', choices: [{ message: { content: 'Hello world' } }] },
      exception: null,
      attributes: { gateway: { provider: 'plain', model: 'gpt-4o-mini' } },
      summary: {
        usage: { 'gpt-4o-mini': { requests: 1, prompt_tokens: 3, completion_tokens: 4 } },
        svc: { status: 'success', costs: { 'gpt-4o-mini': { prompt_tokens: 3 } } },
      },
    });
    expect(JSON.stringify(call)).not.toContain(SECRET);
  });

  it('keeps the bytes of the request, but for the name of the model', async () => {
    const body = ` {"temperature":1.0, "model" : "plain/gpt-4o-mini","seed":12345678901234567890,\n"messages":[]} `;
    expect((await post(body)).status).toBe(200);
    expect(engine.last.text).toBe(body.replace('plain/gpt-4o-mini', 'gpt-4o-mini'));
    const { id } = await newest();
    expect(await text(id)).toContain('"seed":12345678901234567890');
  });

  it('refuses a member that comes twice, since a provider might read the other one', async () => {
    const response = await post('{"model":"gpt-4o-mini","model":"Qwen/Q","messages":[]}');
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({
      error: {
        type: 'invalid_request_error',
        param: 'model',
        message: expect.stringContaining('twice'),
      },
    });
  });

  it.each(['lora_path', 'models', 'fallbacks', 'Model', '\u017ftream'])(
    'refuses %s, by which a provider might take another model',
    async (name) => {
      const before = engine.asked.length;
      const response = await post({ model: 'Qwen/S', messages, [name]: 'lora-of-another' });
      expect([response.status, (await json(response)).error.param]).toEqual([400, name]);
      expect((await app.post('/completions/create', { project_id, inputs: { model: 'Qwen/S', messages, [name]: 'x' } })).status).toBe(400); // prettier-ignore
      expect(engine.asked).toHaveLength(before);
    },
  );

  it('passes a stream as it comes, and records the completion', async () => {
    const stream = await client().chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      stream: true,
    });
    let said = '';
    for await (const { choices } of stream) {
      expect(choices).toHaveLength(1);
      said += choices[0]!.delta.content ?? '';
    }
    expect(said).toBe('Hello world');
    expect(engine.last.body.stream_options).toEqual({ include_usage: true });
    expect(await newest()).toMatchObject({
      inputs: { stream: true },
      output: {
        id: 'cmpl-1',
        object: 'chat.completion',
        choices: [
          { message: { role: 'assistant', content: 'Hello world' }, finish_reason: 'stop' },
        ],
        usage: { total_tokens: 7 },
      },
      summary: { usage: { 'gpt-4o-mini': { requests: 1, total_tokens: 7 } } },
    });
    expect((await newest()).inputs).not.toHaveProperty('stream_options');
  });

  it('passes the bytes of a stream, also where they break within an event', async () => {
    const body = {
      model: 'gpt-4o-mini',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    };
    const sent = eventsOf({ body, path: '/chat/completions' }).join('');
    for (const size of [1, 7, 50, 10_000]) {
      engine.next(async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < sent.length; at += size)
          await new Promise((done) => response.write(sent.slice(at, at + size), done));
        response.end();
      });
      expect(await (await post(body)).text()).toBe(sent);
      engine.next(async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < sent.length; at += size)
          await new Promise((done) => response.write(sent.slice(at, at + size), done));
        response.end();
      });
      const { stream_options: _, ...plain } = body;
      const events = sent.split(/(?<=\n\n)/);
      expect(await (await post(plain)).text()).toBe(
        events.filter((event) => !event.includes('"choices":[]')).join(''),
      );
    }
  });

  it('sends the first bytes on while the provider still works', async () => {
    let goOn = () => {};
    engine.next(async (asked, response) => {
      const [first, ...others] = eventsOf(asked);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(first);
      await new Promise<void>((resolve) => (goOn = resolve));
      response.end(others.join(''));
    });
    const stream = await client().chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      stream: true,
    });
    const chunks = stream[Symbol.asyncIterator]();
    expect((await chunks.next()).value.choices[0].delta.role).toBe('assistant');
    expect((await newest()).summary.svc.status).toBe('running');
    goOn();
    while (!(await chunks.next()).done);
    expect((await newest()).summary.svc.status).toBe('success');
  });

  it.each(['vllm', 'sglang'])(
    'asks %s for logprobs and token ids, and stores them as they are spelled',
    async (name) => {
      const model = name === 'vllm' ? 'Qwen/Q' : 'Qwen/S';
      for (const stream of [false, true]) {
        await (await post({ model, messages, stream })).text();
        const hasIds = name === 'vllm' || !stream;
        expect(engine.last.body.logprobs).toBe(true);
        expect(engine.last.body.return_token_ids).toBe(hasIds ? true : undefined);
        const { id, output } = await newest();
        expect(output.choices[0].token_ids).toEqual(hasIds ? [1, 2, 3, 4] : undefined);
        expect(output.prompt_token_ids).toEqual(hasIds ? [7, 8, 9] : undefined);
        expect((await text(id)).split(LONG_LOGPROB)).toHaveLength(5);
      }
    },
  );

  it('leaves what the client says of logprobs', async () => {
    await post({ model: 'Qwen/Q', messages, logprobs: false });
    expect(engine.last.body.logprobs).toBe(false);
    const { choices } = await client().chat.completions.create({
      model: 'Qwen/Q',
      messages,
      logprobs: true,
    });
    expect(choices[0]!.logprobs!.content).toHaveLength(4);
  });

  it('passes and records calls of tools, as a whole and as a stream', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'look', parameters: {} } }];
    const { choices } = await client().chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      tools,
    });
    expect(choices[0]!.message.tool_calls).toMatchObject([{ id: 'call_1' }]);
    await client()
      .chat.completions.stream({ model: 'gpt-4o-mini', messages, tools })
      .finalChatCompletion();
    expect((await newest()).output.choices[0].message.tool_calls).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"q":1}' } },
    ]);
  });

  it('places the call by headers', async () => {
    const parent = (
      await app.post('/call/start', {
        start: {
          project_id,
          op_name: 'turn',
          started_at: new Date().toISOString(),
          thread_id: 'talk',
        },
      })
    ).body;
    await post(
      { model: 'gpt-4o-mini', messages },
      {
        'x-skein-parent-id': parent.id,
        'x-skein-thread-id': Buffer.from('Gespräch').toString('latin1'),
        'x-skein-turn-id': parent.id,
        'x-skein-attributes': '{"n":1.50,"gateway":"mine"}',
      },
    );
    const call = await newest();
    expect(call).toMatchObject({
      parent_id: parent.id,
      trace_id: parent.trace_id,
      thread_id: 'Gespräch',
      turn_id: parent.id,
      attributes: { n: 1.5, gateway: { provider: 'plain' } },
    });
    expect(await text(call.id)).toContain('"n":1.50');
    const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    await post({ model: 'gpt-4o-mini', messages }, { traceparent: `00-${trace}-${span}-01` });
    expect(await newest()).toMatchObject({ trace_id: trace, parent_id: span });
    await post({ model: 'gpt-4o-mini', messages }, { 'x-skein-thread-id': 'alone' });
    const turn = await newest();
    expect(turn.turn_id).toBe(turn.id);
  });

  it.each([
    ['x-skein-attributes', '[1]', 400],
    ['x-skein-attributes', `{"a":"${'x'.repeat(8192)}"}`, 400],
    ['x-skein-project', 'acme', 400],
    ['x-skein-project', 'other/demo', 403],
    ['x-skein-record', 'never', 400],
    ['x-skein-thread-id', 'x'.repeat(1281), 400],
    ['x-skein-parent-id', 'x'.repeat(257), 400],
    ['authorization', 'Bearer skn_nobody', 401],
  ])('refuses the header %s (%#) in the shape of OpenAI', async (name, value, status) => {
    const response = await post({ model: 'gpt-4o-mini', messages }, { [name]: value });
    expect(response.status).toBe(status);
    expect(await json(response)).toEqual({
      error: {
        message: expect.any(String),
        type: expect.any(String),
        param: status === 400 ? expect.any(String) : null,
        code: expect.any(String),
      },
    });
  });

  it('wants a project of a key that reaches several', async () => {
    const wide = client({ apiKey: await app.aKey('writer', ['acme/*']) });
    const ask = (options: object = {}) =>
      wide.chat.completions.create({ model: 'gpt-4o-mini', messages }, options);
    await expect(ask()).rejects.toThrow(/X-Skein-Project/);
    await ask({ headers: { 'x-skein-project': project_id } });
    const reader = client({ apiKey: await app.aKey('reader', [project_id]) });
    await expect(
      reader.chat.completions.create({ model: 'gpt-4o-mini', messages }),
    ).rejects.toThrow(/role writer/);
  });

  it('answers names that nobody serves with those that are', async () => {
    const ask = client().chat.completions.create({ model: 'nothing', messages });
    await expect(ask).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      message: expect.stringContaining('gpt-4o-mini, o*, Qwen/Q'),
    });
    expect((await client().models.list()).data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['gpt-4o-mini', 'o*', 'Qwen/Q']),
    );
    await client().chat.completions.create({ model: 'o3', messages });
    expect(engine.last.body.model).toBe('o3');
  });

  it('records nothing of what may be secret', async () => {
    await post({
      model: 'gpt-4o-mini',
      messages,
      api_key: 'sk-mine',
      extra_headers: { a: 'sk-mine' },
    });
    const { id } = await newest();
    expect(await text(id)).not.toContain('sk-mine');
  });
});

describe('a provider that fails', () => {
  const body = { model: 'gpt-4o-mini', messages };

  it('has its refusal passed on, without the key of the operator', async () => {
    engine.next((_, response) => {
      response.writeHead(429, {
        'content-type': 'application/json',
        'retry-after': '7',
        'set-cookie': 'a=b',
      });
      response.end(`{"error":{"message":"slow down, ${SECRET}"}, "n": 1.0}`);
    });
    const response = await post(body);
    expect([
      response.status,
      response.headers.get('retry-after'),
      response.headers.get('set-cookie'),
    ]).toEqual([429, '7', null]);
    expect(await response.text()).toBe('{"error":{"message":"slow down, [key]"}, "n": 1.0}');
    expect(await newest()).toMatchObject({
      exception: 'the provider plain answered 429: slow down, [key]',
      summary: { svc: { status: 'error' } },
    });
  });

  it('that sends the key back has it taken out, also of two pieces and of headers', async () => {
    const events = eventsOf({ body, path: '/chat/completions' });
    const told = JSON.stringify({ model: SECRET, choices: [{ message: { content: SECRET } }] });
    engine.next((_, response) =>
      response.writeHead(200, { 'content-type': `application/json; x=${SECRET}` }).end(told),
    );
    const whole = await post(body);
    expect(await whole.text()).toBe(told.replaceAll(SECRET, '[key]'));
    expect(JSON.stringify([...whole.headers])).not.toContain(SECRET);
    expect(await text((await newest()).id)).not.toContain(SECRET);

    const event = events[1]!.replace('Hel', SECRET);
    engine.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const middle = event.indexOf('secret');
      response.write(event.slice(0, middle));
      setTimeout(() => response.end(event.slice(middle) + events.at(-1)), 50);
    });
    expect(await (await post({ ...body, stream: true })).text()).toContain('"content":"[key]"');
    expect(await text((await newest()).id)).not.toContain(SECRET);

    engine.next((_, response) =>
      response
        .writeHead(500, { 'retry-after': SECRET, 'content-type': `text/x; x=${SECRET}` })
        .end(
          JSON.stringify({ error: { message: SECRET } }).replace('secret', String.raw`\u0073ecret`),
        ),
    );
    const refused = await post(body);
    expect(JSON.stringify([...refused.headers])).not.toContain(SECRET);
    expect((await newest()).exception).toBe('the provider plain answered 500: [key]');
  });

  it('that speaks another protocol is told at once', async () => {
    engine.next((_, response) =>
      response.socket!.write('HTTP/1.1 101 x\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    );
    expect((await json(await post(body))).error.message).toMatch(/answered 101/);
  });

  it('is told as an error of Skein where it does not take the key', async () => {
    engine.next((_, response) => response.writeHead(401).end('{"error":{"message":"bad key"}}'));
    expect((await post(body)).status).toBe(502);
  });

  it.each([
    ['redirects', 302, { location: '/v1/other' }, /302/],
    ['compresses', 200, { 'content-encoding': 'gzip' }, /compressed/],
  ])('is not followed where it %s', async (_, status, headers, message) => {
    const before = engine.asked.length;
    engine.next((_asked, response) => response.writeHead(status, headers).end('x'));
    const response = await post(body);
    expect(response.status).toBe(502);
    expect((await json(response)).error.message).toMatch(message);
    expect(engine.asked.length).toBe(before + 1);
    expect((await newest()).exception).toMatch(message);
  });

  it('is told where it cannot be reached', async () => {
    const response = await post({ ...body, model: 'away' });
    expect([response.status, (await json(response)).error]).toEqual([
      502,
      {
        message: 'the provider away cannot be reached',
        type: 'server_error',
        param: null,
        code: 'provider_failed',
      },
    ]);
    expect((await newest()).exception).toMatch(/cannot be reached/);
  });

  it('is given up when it does not begin, and when it falls silent', async () => {
    engine.next(() => {});
    expect((await json(await post(body))).error.message).toMatch(/did not begin to answer in 1 s/);
    engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of eventsOf(asked).slice(0, 2)) response.write(event);
    });
    const stream = await client().chat.completions.create({ ...body, stream: true });
    await expect(async () => { for await (const _ of stream); }).rejects.toThrow(/sent nothing for too long/); // prettier-ignore
    expect(await newest()).toMatchObject({
      exception: expect.stringMatching(/nothing/),
      output: { choices: [{ message: { content: 'Hel' } }] },
    });
  });

  it('cuts the stream of the client where it breaks off', async () => {
    engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventsOf(asked)[0], () => response.destroy());
    });
    const stream = await client().chat.completions.create({ ...body, stream: true });
    await expect(async () => { for await (const _ of stream); }).rejects.toThrow(/broke off/); // prettier-ignore
    await until(async () => /broke off/.test((await newest()).exception));
  });

  it('is stopped at the limit of an answer', async () => {
    engine.next((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`"${'x'.repeat(300_000)}"`),
    );
    const response = await post(body);
    expect([response.status, (await json(response)).error.message]).toEqual([
      502,
      'the answer of the provider plain has over 200000 bytes',
    ]);
  });
});

describe('a client that leaves', () => {
  const leave = async (stream: boolean) => {
    let aborted = false;
    engine.next((asked, response) => {
      response.on('close', () => (aborted = !response.writableFinished));
      response.writeHead(200, {
        'content-type': stream ? 'text/event-stream' : 'application/json',
      });
      response.write(stream ? eventsOf(asked).slice(0, 2).join('') : '{');
    });
    const before = engine.asked.length;
    const request = httpRequest(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    });
    request.on('error', () => {});
    request.end(JSON.stringify({ model: 'Qwen/Q', messages, stream }));
    if (stream) {
      const [response] = await once(request, 'response');
      await once(response, 'data');
    } else await until(() => engine.asked.length > before);
    request.destroy();
    await until(() => aborted);
    await until(async () => (await newest()).ended_at !== null);
    return newest();
  };

  it('ends the work of the provider, and what came is recorded', async () => {
    expect(await leave(true)).toMatchObject({
      exception: 'the client left before the answer had ended',
      output: { choices: [{ message: { content: 'Hel' } }] },
    });
    expect((await leave(false)).exception).toMatch(/^the client left before/);
  });
});

describe('checkpoints', () => {
  let model: string;
  const serve = (step: number, upstream_model: string, more: object = {}, as = app.key) =>
    previewOf(app).call(
      'POST',
      '/trainer/serving',
      { model_id: model, step, provider: 'vllm', upstream_model, ttl_seconds: 60, ...more },
      { key: as },
    );
  const asked = async (name: string, options: object = {}) => {
    await client(options).chat.completions.create({ model: name, messages });
    return engine.last.body.model;
  };

  beforeAll(async () => {
    const preview = previewOf(app);
    model = await preview.aModel({ name: 'agent' });
    for (const _ of [1, 2]) {
      const job = await preview.aJob(model);
      const { lease_token: token } = (await preview.claim()).body;
      await preview.start(job, token);
      await preview.complete(job, token);
    }
    const trainer = await app.aKey('trainer', [project_id]);
    expect((await serve(1, 'lora-1', {}, trainer)).body).toEqual({
      expires_at: expect.any(String),
    });
    expect((await serve(2, 'lora-2', {}, trainer)).status).toBe(200);
  });

  it('are found by name and step, also as artifacts', async () => {
    expect(await asked('agent:step1')).toBe('lora-1');
    expect(await asked('agent')).toBe('lora-2');
    expect(await asked('wandb-artifact:///acme/demo/agent')).toBe('lora-2');
    expect(await asked('wandb-artifact:///acme/demo/agent:step1')).toBe('lora-1');
    const wide = await app.aKey('writer', ['acme/*', 'other/*']);
    expect(await asked('wandb-artifact:///acme/demo/agent:step2', { apiKey: wide })).toBe('lora-2');
    const { summary, inputs } = await newest();
    expect([inputs.model, Object.keys(summary.usage)]).toEqual([
      'wandb-artifact:///acme/demo/agent:step2',
      ['agent:step2'],
    ]);
    const { body } = await app.post('/lineage/query', {
      project_id,
      model_id: model,
      step: 2,
    });
    expect(JSON.stringify(body)).toContain((await newest()).id);
  });

  it('are refused where they are not served, or of another project', async () => {
    await expect(asked('agent:step0')).rejects.toThrow(
      /404 no provider serves "agent:step0" now.*agent:step2/,
    );
    await expect(asked('wandb-artifact:///acme/demo/nothing')).rejects.toThrow(
      /404 there is no model/,
    );
    await expect(asked('wandb-artifact:///other/demo/agent')).rejects.toMatchObject({
      status: 403,
    });
    await expect(asked('lora-1')).rejects.toMatchObject({ status: 404 });
  });

  it('are listed, and shown beside the checkpoint', async () => {
    const { data } = await client().models.list();
    expect(data).toContainEqual({
      id: 'agent:step2',
      object: 'model',
      created: expect.any(Number),
      owned_by: project_id,
    });
    const { body } = await previewOf(app).call('GET', `/models/${model}/checkpoints/2`);
    expect(body.serving).toEqual([
      { provider: 'vllm', upstream_model: 'lora-2', expires_at: expect.any(String) },
    ]);
    const servable = await previewOf(app).call('GET', '/trainer/models?base_model=Qwen/Q');
    expect(servable.body.data).toContainEqual({
      id: model,
      entity: 'acme',
      project: 'demo',
      name: 'agent',
      base_model: 'Qwen/Q',
      steps: [2, 1, 0].map((step) => ({ step, files: false, aliases: [] })),
    });
  });

  it.each([
    [{ provider: 'nobody' }, 400, /provider/],
    [{ provider: 'plain' }, 400, /vllm or sglang/],
    [{ upstream_model: 'Qwen/Q' }, 400, /every key/],
    [{ step: 9 }, 404, /checkpoint/],
    [{ ttl_seconds: 29 }, 400, /ttl_seconds/],
  ])('are not served by %j', async (more, status, message) => {
    const answer = await serve(1, 'lora-1', more);
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(message)]);
  });

  it('of one project do not go by the names of another', async () => {
    const other = await previewOf(app).aModel({ project: 'other' });
    expect((await serve(0, 'lora-1', { model_id: other })).status).toBe(409);
    expect((await serve(0, 'Qwen/Q', { model_id: other })).status).toBe(200);
    expect((await serve(0, 'Qwen/Q')).status).toBe(200);
    for (let i = 0; i < 8; i++) {
      const answers = await Promise.all([
        serve(0, `raced-${i}`, { model_id: other }),
        serve(1, `raced-${i}`),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    }
    await serve(1, 'lora-1');
  });

  it('are found by the alias that they have', async () => {
    await expect(asked('agent:current')).rejects.toThrow(/404 no provider serves/);
    const promote = { project_id, model_id: model, step: 1, by_hand: true };
    expect((await app.post('/models/promote', promote)).status).toBe(200);
    expect(await asked('agent:current')).toBe('lora-1');
    expect(await asked('wandb-artifact:///acme/demo/agent:current')).toBe('lora-1');
    expect((await newest()).summary.usage).toHaveProperty(['agent:step1']);
    const checkpoint = await previewOf(app).call('GET', `/models/${model}/checkpoints/1`);
    expect(checkpoint.body.aliases).toEqual(['current']);
    const { body } = await previewOf(app).call('GET', '/trainer/models?base_model=Qwen/Q');
    const { steps } = body.data.find(({ id }: { id: string }) => id === model);
    expect(steps).toContainEqual({ step: 1, files: false, aliases: ['current'] });
  });

  it('are not chosen, nor told to servers, when they were trained on purged calls', async () => {
    const taint = (at: string) =>
      app.query(`UPDATE checkpoints SET tainted_at = ${at} WHERE model_id = $1 AND step = 2`, [
        model,
      ]);
    await taint('now()');
    expect(await asked('agent')).toBe('lora-1');
    const { body } = await previewOf(app).call('GET', '/trainer/models?base_model=Qwen/Q');
    const { steps } = body.data.find(({ id }: { id: string }) => id === model);
    expect(steps.map(({ step }: { step: number }) => step)).toEqual([1, 0]);
    await taint('NULL');
  });

  it('end when their server says so, or says nothing more', async () => {
    const end = { model_id: model, step: 2, provider: 'vllm' };
    expect((await previewOf(app).call('POST', '/trainer/serving/end', end)).body).toEqual({});
    expect(await asked('agent')).toBe('lora-1');
    await app.query(`UPDATE served_checkpoints SET expires_at = now()`);
    await expect(asked('agent')).rejects.toMatchObject({ status: 404 });
  });
});

describe('POST /v1/completions', () => {
  it('asks for a text, as a whole and as a stream', async () => {
    const { choices } = await client().completions.create({ model: 'Qwen/Q', prompt: 'Say' });
    expect(choices[0]!.text).toBe('Hello world');
    expect(engine.last.body).toMatchObject({ logprobs: 1, return_token_ids: true });
    const stream = await client().completions.create({
      model: 'Qwen/Q',
      prompt: 'Say',
      stream: true,
    });
    for await (const _ of stream);
    expect(await newest()).toMatchObject({
      op_name: 'gateway.completions',
      output: {
        object: 'text_completion',
        choices: [{ text: 'Hello world', token_ids: [1, 2, 3, 4] }],
      },
    });
  });
});

describe('POST /completions/create', () => {
  const create = (inputs: object, more: object = {}, path = '/completions/create') =>
    app.post(path, { project_id, inputs, ...more }, { key });

  it('answers what the provider says, and the call', async () => {
    const {
      status,
      text: answer,
      body,
    } = await create(
      { model: 'gpt-4o-mini', messages, seed: 1, n: null, vertex_credentials: 'sk-mine', stream: true }, // prettier-ignore
      { conversation_id: 'talk', source: 'ui' },
    );
    expect([status, body.response.choices[0].message.content]).toEqual([200, 'Hello world']);
    expect(answer).toContain('"conversation_id":"talk"');
    expect(engine.last.body).toEqual({ model: 'gpt-4o-mini', messages, seed: 1 });
    const call = await read(body.weave_call_id);
    expect(call).toMatchObject({
      op_name: 'weave.completions_create',
      thread_id: 'talk',
      turn_id: call.id,
      inputs: { model: 'gpt-4o-mini', messages },
      attributes: { source: 'ui' },
      output: { choices: [{ message: { content: 'Hello world' } }] },
      summary: { usage: { 'gpt-4o-mini': { total_tokens: 7 } } },
    });
    expect(JSON.stringify(call)).not.toContain('sk-mine');
  });

  it('records nothing where it is told so', async () => {
    const before = (await newest()).id;
    const { body } = await create({ model: 'gpt-4o-mini', messages }, { track_llm_call: false });
    expect(body).toEqual({ response: expect.objectContaining({ id: 'cmpl-1' }) });
    expect((await newest()).id).toBe(before);
  });

  it('puts the messages of a prompt first, and values in the place of variables', async () => {
    const val = {
      _type: 'MessagesPrompt',
      messages: [{ role: 'system', content: 'Be {mood}, not {other}' }],
    };
    const { digest } = (
      await app.post('/obj/create', { obj: { project_id, object_id: 'prompt', val } })
    ).body;
    const said = { role: 'assistant', content: 'I am {mood}' };
    const parts = { role: 'user', content: [{ type: 'text', text: '{n}?' }] };
    await create({
      model: 'gpt-4o-mini',
      messages: [said, parts],
      prompt: `svc:///${project_id}/object/prompt:${digest}`,
      template_vars: { mood: 'kind "$&"', n: 3 },
    });
    expect(engine.last.body.messages).toEqual([
      { role: 'system', content: 'Be kind "$&", not {other}' },
      said,
      { role: 'user', content: [{ type: 'text', text: '3?' }] },
    ]);
  });

  it('adds no more than a limit, however often a short text asks for a long value', async () => {
    const before = engine.asked.length;
    // filled, they would have 20 GB
    const message = { role: 'user', content: '{a}'.repeat(1000) };
    const template_vars = { a: 'x'.repeat(100_000) };
    const inputs = { model: 'gpt-4o-mini', messages: Array(200).fill(message), template_vars };
    const { status, body } = await create(inputs);
    expect([status, body.detail]).toEqual([
      400,
      expect.stringContaining('over 1048576 characters'),
    ]);
    expect(engine.asked).toHaveLength(before);
  });

  it('answers 200 where a provider fails, and an error where the request does', async () => {
    engine.next((_, response) => response.writeHead(200).end('1,"weave_call_id":"of another"'));
    expect((await create({ model: 'gpt-4o-mini', messages })).body).toEqual({
      response: { error: 'the answer is no JSON' },
      weave_call_id: (await newest()).id,
    });
    engine.next((_, response) => response.writeHead(400).end('{"error":{"message":"too long"}}'));
    const { status, body } = await create({ model: 'gpt-4o-mini', messages });
    expect([status, body.response]).toEqual([
      200,
      { error: 'the provider plain answered 400: too long' },
    ]);
    expect((await read(body.weave_call_id)).exception).toMatch(/too long/);
    expect((await create({ model: 'away', messages })).body.response.error).toMatch(
      /cannot be reached/,
    );
    expect((await create({ model: 'nothing', messages })).status).toBe(404);
    expect((await create({ messages })).body.detail).toMatch(/^inputs.model/);
    expect((await create({ model: 'gpt-4o-mini', prompt: 'x' })).body.detail).toMatch(
      /^inputs.prompt/,
    );
  });

  it('asks own providers only at addresses of the operator', async () => {
    const provider = (object_id: string, base_url: string) =>
      app.post('/obj/create', {
        obj: { project_id, object_id, val: { _type: 'Provider', base_url } },
      });
    await provider('mine', `${engine.url}/`);
    await provider('inside', 'http://169.254.169.254/latest');
    await provider('slashes', `${'/'.repeat(300_000)}x`);
    expect((await create({ model: 'custom::mine::o3', messages })).status).toBe(200);
    expect(engine.last.body.model).toBe('o3');
    const before = engine.asked.length;
    for (const [model, message] of [
      ['custom::inside::o3', /base_url is none/],
      // what the operator does not open there, such as a checkpoint of another project
      ['custom::mine::lora-of-another', /none of the models/],
      // a pattern that begins anew at each slash would take minutes
      ['custom::slashes::o3', /base_url is none/],
    ] as const) {
      const refused = await create({ model, messages });
      expect([model, refused.status, refused.body.detail]).toEqual([model, 400, expect.stringMatching(message)]); // prettier-ignore
    }
    expect(engine.asked).toHaveLength(before);
  });

  it('streams lines: the call, the chunks as they come, and what fails', async () => {
    const lines = async (inputs: object, more: object = {}) =>
      (await create(inputs, more, '/completions/create_stream')).text.trim().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
    const [meta, ...chunks] = await lines({ model: 'gpt-4o-mini', messages });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      'Hello world',
    );
    expect(chunks.at(-1).usage.total_tokens).toBe(7);
    expect((await read(meta['_meta'].weave_call_id)).output.choices[0].message.content).toBe(
      'Hello world',
    );
    expect(await lines({ model: 'gpt-4o-mini', messages }, { track_llm_call: false })).toHaveLength(
      chunks.length,
    );
    engine.next((_, response) => response.writeHead(500).end('no'));
    expect((await lines({ model: 'gpt-4o-mini', messages }))[1]).toEqual({
      error: 'the provider plain answered 500',
    });
    engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventsOf(asked)[1], () => response.destroy());
    });
    const cut = create({ model: 'gpt-4o-mini', messages }, {}, '/completions/create_stream');
    await expect(cut).rejects.toThrow();
  });
});

describe('a database that does not store', () => {
  it('refuses what is to be recorded, and lets the rest pass', async () => {
    const small = await startApp({
      GATEWAY_PROVIDERS: JSON.stringify([{ name: 'plain', base_url: engine.url, models: ['m'] }]),
    });
    try {
      await small.query(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$`,
      );
      await small.query(
        'CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON calls FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
      );
      const ask = (record: string, stream: boolean) =>
        fetch(`${small.url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${small.key}`,
            'x-skein-project': project_id,
            'x-skein-record': record,
          },
          body: JSON.stringify({ model: 'm', messages, stream }),
        });
      for (const stream of [false, true]) {
        const before = engine.asked.length;
        const refused = await ask('required', stream);
        expect([refused.status, refused.headers.get('retry-after'), engine.asked.length]).toEqual([
          503,
          '1',
          before,
        ]);
        const passed = await ask('best_effort', stream);
        expect([passed.status, await passed.text()]).toEqual([200, expect.stringContaining('wor')]);
      }
      // the start is stored, and the end is not
      await small.query('DROP TRIGGER refuse ON calls');
      engine.next(async (asked, response) => {
        await small.query(
          'CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON calls FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
        );
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(eventsOf(asked).join(''));
      });
      const cut = await ask('required', true);
      const reader = cut.body!.getReader();
      let said = '';
      const readAll = async () => { for (;;) { const { done, value } = await reader.read(); if (done) return; said += Buffer.from(value).toString(); } }; // prettier-ignore
      await expect(readAll()).rejects.toThrow();
      expect(said).toContain('"error"');
      expect(said).not.toContain('[DONE]');
    } finally {
      await small.close();
    }
  });
});

describe('budgets', () => {
  it('let each key ask so many times a day', async () => {
    const poor = await startApp({
      GATEWAY_REQUESTS_PER_DAY: '2',
      GATEWAY_COST_PER_DAY: '0.5',
      GATEWAY_PROVIDERS: JSON.stringify([
        { name: 'plain', base_url: engine.url, models: ['m', 'dear'] },
      ]),
    });
    try {
      const ask = async (apiKey: string, model = 'm') =>
        new OpenAI({ baseURL: `${poor.url}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
          model,
          messages,
        });
      const [one, other] = [
        await poor.aKey('writer', [project_id]),
        await poor.aKey('writer', [project_id]),
      ];
      const used = async (apiKey: string) => {
        const [row] = await poor.query(
          `SELECT u.cost::float8 FROM gateway_uses u JOIN api_keys k ON k.id::text = u.key_id
          WHERE k.secret_hash = sha256(convert_to($1, 'UTF8'))`,
          [apiKey],
        );
        return row ?? { cost: 0 };
      };
      const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => ask(one)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      await expect(ask(one)).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
      await poor.post('/cost/create', {
        project_id,
        costs: { dear: { prompt_token_cost: 0.1, completion_token_cost: 0.1 } },
      });
      await ask(other, 'dear');
      await expect(ask(other)).rejects.toThrow(/0.5 US dollars/);

      // what nobody records counts as well, and a price of the project makes no model cheaper than it is
      const priced = { prompt_token_cost: 0, completion_token_cost: 0 };
      await poor.post('/cost/create', { project_id, costs: { 'gpt-4o': priced } });
      const usage = { prompt_tokens: 1e6, completion_tokens: 1e6 };
      engine.next((_, response) =>
        response.writeHead(200).end(JSON.stringify({ model: 'gpt-4o', choices: [], usage })),
      );
      const third = await poor.aKey('writer', [project_id]);
      const inputs = { model: 'm', messages };
      const silent = { project_id, inputs, track_llm_call: false };
      expect((await poor.post('/completions/create', silent, { key: third })).status).toBe(200);
      await until(async () => (await used(third)).cost > 10);
      await expect(ask(third)).rejects.toThrow(/0.5 US dollars/);

      // so does a stream whose client leaves before its usage is told, and one that ends on the next day
      const fourth = await poor.aKey('writer', [project_id]);
      engine.next(async (asked, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of eventsOf(asked).slice(0, 3)) response.write(event);
        await poor.query('DELETE FROM gateway_uses');
      });
      const leaving = httpRequest(`${poor.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${fourth}` },
      });
      leaving.on('error', () => {});
      leaving.end(JSON.stringify({ model: 'dear', messages, stream: true }));
      const [begun] = await once(leaving, 'response');
      await once(begun, 'data');
      leaving.destroy();
      await until(async () => (await used(fourth)).cost > 0.5);
    } finally {
      await poor.close();
    }
  });
});
