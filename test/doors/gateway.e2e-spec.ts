import { eventsOf, LONG_LOGPROB, responseEvents } from '../support/engine.js';
import { json, messages, project_id, SECRET, useGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const gateway = useGateway();
const { client, post, read, text, newest } = gateway;

describe('POST /v1/chat/completions', () => {
  it('passes an answer, and records it with what it cost', async () => {
    const { data, response } = await client()
      .chat.completions.create({ model: 'gpt-4o-mini', messages, temperature: 0.5 })
      .withResponse();
    expect(data.choices[0]!.message.content).toBe('Hello world');
    expect(gateway.engine.last).toMatchObject({
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
    expect(gateway.engine.last.text).toBe(body.replace('plain/gpt-4o-mini', 'gpt-4o-mini'));
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
      const before = gateway.engine.asked.length;
      const response = await post({ model: 'Qwen/S', messages, [name]: 'lora-of-another' });
      expect([response.status, (await json(response)).error.param]).toEqual([400, name]);
      expect((await gateway.app.post('/completions/create', { project_id, inputs: { model: 'Qwen/S', messages, [name]: 'x' } })).status).toBe(400); // prettier-ignore
      expect(gateway.engine.asked).toHaveLength(before);
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
    expect(gateway.engine.last.body.stream_options).toEqual({ include_usage: true });
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
      gateway.engine.next(async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < sent.length; at += size)
          await new Promise((done) => response.write(sent.slice(at, at + size), done));
        response.end();
      });
      expect(await (await post(body)).text()).toBe(sent);
      gateway.engine.next(async (_, response) => {
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
    gateway.engine.next(async (asked, response) => {
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
        expect(gateway.engine.last.body.logprobs).toBe(true);
        expect(gateway.engine.last.body.return_token_ids).toBe(hasIds ? true : undefined);
        const { id, output } = await newest();
        expect(output.choices[0].token_ids).toEqual(hasIds ? [1, 2, 3, 4] : undefined);
        expect(output.prompt_token_ids).toEqual(hasIds ? [7, 8, 9] : undefined);
        expect((await text(id)).split(LONG_LOGPROB)).toHaveLength(5);
      }
    },
  );

  it('leaves what the client says of logprobs', async () => {
    await post({ model: 'Qwen/Q', messages, logprobs: false });
    expect(gateway.engine.last.body.logprobs).toBe(false);
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

  /** Makes the provider answer with a stream of one choice. */
  const streamOf = (...deltas: object[]) =>
    gateway.engine.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const delta of deltas)
        response.write(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  const piece = (args: string | object, more: object = {}, name?: string) => ({
    ...more,
    function: { ...(name && { name }), arguments: args },
  });
  const called = (id: string, name: string, args: string) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  const paris = called('a', 'look', '{"q":"Paris"}');
  const rome = called('b', 'look', '{"q":"Rome"}');
  const noIds = [paris, rome].map((call) => ({ ...call, id: '' }));

  it.each<[string, object[][], object[]]>([
    [
      'an index, and not an id (Gemini)',
      [
        [piece('{"q":"Paris"}', { index: 0, id: 'a' }, 'look')],
        [piece('{"q":"Rome"}', { index: 0, id: 'b' }, 'look')],
      ],
      [paris, rome],
    ],
    [
      'an index within a chunk',
      [
        [
          piece('{"q":"Paris"}', { index: 0, id: 'a' }, 'look'),
          piece('{"q":"Rome"}', { index: 0, id: 'b' }, 'look'),
        ],
      ],
      [paris, rome],
    ],
    [
      'an index, in pieces of which each has its id',
      [
        [piece('{"q":', { index: 0, id: 'a' }, 'look')],
        [piece('{"q":', { index: 0, id: 'b' }, 'look')],
        [piece('"Paris"}', { index: 0, id: 'a' }, 'look')],
        [piece('"Rome"}', { index: 0, id: 'b' }, 'look')],
      ],
      [paris, rome],
    ],
    [
      'an index, with ids on the first pieces only',
      [
        [piece('', { index: 0, id: 'a' }, 'look')],
        [piece('{"q":', { index: 0, id: '' })],
        [piece('"Paris"}', { index: 0, id: null })],
        [piece('', { index: 0, id: 'b' }, 'look')],
        [piece('{"q":"Rome"}', { index: 0 })],
      ],
      [paris, rome],
    ],
    [
      'an index and an empty id',
      [
        [piece('{"q":"Paris"}', { index: 0, id: '' }, 'look')],
        [piece('{"q":"Rome"}', { index: 0, id: '' }, 'look')],
      ],
      noIds,
    ],
    [
      'an index and a name, in pieces without an id',
      [
        [piece('{"q":', { index: 0 }, 'look')],
        [piece('"Paris"}', { index: 0 }, 'look')],
        [piece('{"q":"R', { index: 0 }, 'look')],
        [piece('ome"}', { index: 0 })],
      ],
      noIds,
    ],
    [
      'an index, with arguments that are objects',
      [
        [piece({ q: 'Paris' }, { index: 0, id: 'a' }, 'look')],
        [piece({ q: 'Rome' }, { index: 0, id: 'b' }, 'look')],
      ],
      [paris, rome],
    ],
    [
      'no index',
      [
        [piece('{"q":"Paris"}', { id: 'a' }, 'look')],
        [piece('{"q":', { id: 'b' }, 'look')],
        [piece('"Rome"}')],
      ],
      [paris, rome],
    ],
    [
      'no index and no id',
      [[piece('{"q":"Paris"}', {}, 'look'), piece('{"q":"Rome"}', {}, 'look')]],
      noIds,
    ],
    [
      'an index of its own each, out of order',
      [
        [piece('', { index: 1, id: 'b' }, 'look')],
        [piece('', { index: 0, id: 'a' }, 'look')],
        [piece('{"q":"Rome"}', { index: 1 })],
        [piece('{"q":"Paris"}', { index: 0 })],
      ],
      [paris, rome],
    ],
    [
      'one id at two indexes',
      [
        [piece('{"q":"Paris"}', { index: 0, id: 'a' }, 'look')],
        [piece('{"q":"Rome"}', { index: 1, id: 'a' }, 'look')],
      ],
      [paris, { ...rome, id: 'a' }],
    ],
    [
      'another id on each chunk of one call (vLLM before 0.8.5)',
      [
        [piece('', { index: 0, id: 'a' }, 'look')],
        [piece('{"q":', { index: 0, id: 'x' })],
        [piece('"Paris"}', { index: 0, id: 'y' })],
        [piece('{"q":"Rome"}', { index: 1, id: 'b' }, 'look')],
      ],
      [paris, rome],
    ],
    [
      'a name on each chunk',
      [
        [piece('{"q":', { index: 0, id: 'a' }, 'look')],
        [piece('"Paris"}', { index: 0, id: '' }, 'look')],
        [piece('{"q":"Rome"}', { index: 0, id: 'b' }, 'look')],
      ],
      [paris, rome],
    ],
    [
      'other names, no arguments and no ids',
      [[piece('', { index: 0 }, 'look')], [piece('', { index: 0 }, 'leave')]],
      [called('', 'look', ''), called('', 'leave', '')],
    ],
  ])('keeps calls of tools apart that share %s', async (_, chunks, tool_calls) => {
    streamOf({ role: 'assistant' }, ...chunks.map((pieces) => ({ tool_calls: pieces })));
    await (await post({ model: 'gpt-4o-mini', messages, stream: true })).text();
    const { output } = await newest();
    expect(output.choices[0].message).toEqual({ role: 'assistant', content: null, tool_calls });
  });

  it('records calls of functions and of custom tools, and what comes with them', async () => {
    const thought = { google: { thought_signature: 'c2ln' } };
    streamOf(
      { function_call: { name: 'look', arguments: '' } },
      { function_call: { arguments: '{"q":' } },
      { function_call: { arguments: '1}' } },
      { tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'sh', input: '' } }] },
      { tool_calls: [{ index: 0, custom: { input: 'ls -l' } }] },
      { tool_calls: [{ ...piece('{}', { index: 1, id: 'b' }, 'see'), extra_content: thought }] },
    );
    await (await post({ model: 'gpt-4o-mini', messages, stream: true })).text();
    const { output } = await newest();
    expect(output.choices[0].message).toEqual({
      role: 'assistant',
      content: null,
      function_call: { name: 'look', arguments: '{"q":1}' },
      tool_calls: [
        { id: 'a', type: 'custom', custom: { name: 'sh', input: 'ls -l' } },
        { ...called('b', 'see', '{}'), extra_content: thought },
      ],
    });
  });

  it('keeps the calls of tools of several choices apart', async () => {
    gateway.engine.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [index, id, args] of [
        [0, 'a', '{"q":"Paris"}'],
        [1, 'b', '{"q":"Rome"}'],
      ])
        response.write(
          `data: ${JSON.stringify({ choices: [{ index, delta: { tool_calls: [piece(String(args), { index: 0, id }, 'look')] } }] })}\n\n`,
        );
      response.end('data: [DONE]\n\n');
    });
    await (await post({ model: 'gpt-4o-mini', messages, stream: true, n: 2 })).text();
    const { output } = await newest();
    expect(output.choices.map(({ message }: any) => message.tool_calls)).toEqual([[paris], [rome]]);
  });

  it('places the call by headers', async () => {
    const parent = (
      await gateway.app.post('/call/start', {
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

  it.each<[Record<string, string>, object]>([
    [{ 'x-session-id': 'ses_1' }, {}],
    [{ 'X-LiteLLM-Session-Id': 'ses_1', 'x-session-id': 'other' }, {}],
    [{ 'x-litellm-trace-id': 'ses_1' }, {}],
    [{ 'Helicone-Session-Id': 'ses_1' }, {}],
    [{ 'X-Claude-Code-Session-Id': 'ses_1' }, {}],
    [{ 'x-parent-session-id': 'parent', 'x-session-id': 'ses_1' }, {}],
    [{ session_id: 'ses_1', conversation_id: 'other' }, {}],
    [{ 'session-id': 'ses_1', 'thread-id': 'other' }, {}],
    [{ conversation_id: 'ses_1' }, {}],
    [{ 'X-OpenWebUI-Chat-Id': 'ses_1' }, {}],
    [{ baggage: 'user.id=7, session.id=ses%5F1;p=1' }, {}],
    [{}, { litellm_session_id: 'ses_1' }],
    [{}, { metadata: { litellm_session_id: 'ses_1' } }],
    [{}, { metadata: { session_id: 'ses_1' } }],
    [{}, { session_id: 'ses_1' }],
    [{}, { litellm_trace_id: 'ses_1' }],
    [{ 'x-session-id': 'x'.repeat(1281) }, { session_id: 'ses_1' }],
    [{ 'x-skein-thread-id': 'ses_1', 'x-session-id': 'other' }, { session_id: 'other' }],
  ])('takes the session that %j and %j name as the thread', async (headers, more) => {
    expect((await post({ model: 'gpt-4o-mini', messages, ...more }, headers)).status).toBe(200);
    const turn = await newest();
    expect(turn).toMatchObject({ thread_id: 'ses_1', turn_id: turn.id });
  });

  it.each([{ metadata: { session_id: 7 } }, { metadata: 'x' }, { session_id: '' }, {}])(
    'takes no thread from %j',
    async (more) => {
      await post({ model: 'gpt-4o-mini', messages, ...more });
      expect(await newest()).toMatchObject({ thread_id: null, turn_id: null });
    },
  );

  it('takes the session of a request in the shape of Weave', async () => {
    const inputs = { model: 'gpt-4o-mini', messages };
    const headers = { 'x-session-id': 'ses_2' };
    await gateway.app.post('/completions/create', { project_id, inputs }, { headers });
    expect((await newest()).thread_id).toBe('ses_2');
    const body = { project_id, inputs, conversation_id: 'ses_3' };
    await gateway.app.post('/completions/create', body, { headers });
    expect((await newest()).thread_id).toBe('ses_3');
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
    const wide = client({ apiKey: await gateway.app.aKey('writer', ['acme/*']) });
    const ask = (options: object = {}) =>
      wide.chat.completions.create({ model: 'gpt-4o-mini', messages }, options);
    await expect(ask()).rejects.toThrow(/X-Skein-Project/);
    await ask({ headers: { 'x-skein-project': project_id } });
    const reader = client({ apiKey: await gateway.app.aKey('reader', [project_id]) });
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
    expect(gateway.engine.last.body.model).toBe('o3');
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

describe('POST /v1/completions', () => {
  it('asks for a text, as a whole and as a stream', async () => {
    const { choices } = await client().completions.create({ model: 'Qwen/Q', prompt: 'Say' });
    expect(choices[0]!.text).toBe('Hello world');
    expect(gateway.engine.last.body).toMatchObject({ logprobs: 1, return_token_ids: true });
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

describe('POST /v1/responses', () => {
  const model = 'gpt-4o-mini';
  const input = 'Say hello';

  it('passes a response, and records it with what it cost', async () => {
    const { data, response } = await client()
      .responses.create({ model, input, instructions: 'Be brief' })
      .withResponse();
    expect(data.output_text).toBe('Hello world');
    expect(gateway.engine.last).toMatchObject({
      path: '/v1/responses',
      body: { model, input, instructions: 'Be brief' },
    });
    const call = await read(response.headers.get('x-skein-call-id')!);
    expect(call).toMatchObject({
      op_name: 'gateway.responses',
      inputs: { model, input },
      output: { id: 'resp_1', status: 'completed' },
      exception: null,
      summary: {
        usage: { [model]: { requests: 1, input_tokens: 3, output_tokens: 4 } },
        svc: {
          status: 'success',
          costs: {
            [model]: { prompt_tokens: 2, cache_read_input_tokens: 1, completion_tokens: 4 },
          },
        },
      },
    });
    expect(await text(call.id)).toContain('"temperature":1.0');
  });

  it('passes a stream byte for byte, and records the response of its last event', async () => {
    const stream = await client().responses.create({ model, input, stream: true });
    const types: string[] = [];
    let said = '';
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') said += event.delta;
    }
    expect([said, types[0], types.at(-1)]).toEqual([
      'Hello world',
      'response.created',
      'response.completed',
    ]);
    const call = await newest();
    expect(call).toMatchObject({
      inputs: { stream: true },
      output: { object: 'response', status: 'completed', output: [{ type: 'message' }] },
      summary: { usage: { [model]: { input_tokens: 3, total_tokens: 7 } } },
    });
    expect(await text(call.id)).toContain('"seed":12345678901234567890');
    const body = { model, input, stream: true };
    const sent = responseEvents({ body }).join('');
    for (const size of [1, 7, 50]) {
      gateway.engine.next(async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let at = 0; at < sent.length; at += size)
          await new Promise((done) => response.write(sent.slice(at, at + size), done));
        response.end();
      });
      expect(await (await post(body, {}, '/v1/responses')).text()).toBe(sent);
    }
  });

  it('holds the last event back until the call has ended', async () => {
    let end = () => {};
    gateway.engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(responseEvents(asked).join(''));
      end = () => response.end();
    });
    const answer = await post({ model, input, stream: true }, {}, '/v1/responses');
    const reader = answer.body!.getReader();
    let said = '';
    const readTo = async (word?: string) => {
      for (;;) {
        if (word !== undefined && said.includes(word)) break;
        const { done, value } = await reader.read();
        if (done) break;
        said += Buffer.from(value).toString();
      }
    };
    await readTo('response.output_item.done');
    expect(said).not.toContain('response.completed');
    end();
    await readTo();
    expect(said).toContain('response.completed');
  });

  it('records what came of a stream that breaks off, and why one failed', async () => {
    gateway.engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(responseEvents(asked).slice(0, 4).join(''), () => response.destroy());
    });
    const stream = await client().responses.create({ model, input, stream: true });
    await expect(async () => { for await (const _ of stream); }).rejects.toThrow(/broke off/); // prettier-ignore
    await until(async () => /broke off/.test((await newest()).exception));
    expect((await newest()).output).toMatchObject({
      status: 'in_progress',
      output: [{ status: 'in_progress', content: [{ type: 'output_text', text: 'Hello' }] }],
    });
    gateway.engine.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        'event: response.failed\ndata: {"type":"response.failed","response":{"id":"resp_2","status":"failed","error":{"code":"server_error","message":"out of luck"}}}\n\n',
      );
    });
    await (await post({ model, input, stream: true }, {}, '/v1/responses')).text();
    expect(await newest()).toMatchObject({
      exception: 'out of luck',
      output: { status: 'failed' },
    });
  });

  it.each(['conv_1', { id: 'conv_1' }])(
    'takes the conversation %j as its thread',
    async (conversation) => {
      // prettier-ignore
      await post({ model, input, conversation }, {}, '/v1/responses');
      expect((await newest()).thread_id).toBe('conv_1');
    },
  );

  it.each([
    ['of a stream that breaks off', false],
    ['that the last event leaves out', true],
  ])('keeps items apart that share an index, %s', async (_, isWhole) => {
    const item = (id: string, args: string) => ({ type: 'function_call', id, name: 'look', arguments: args }); // prettier-ignore
    const at = (item_id: string, delta: string) => ({ type: 'response.function_call_arguments.delta', output_index: 0, item_id, delta }); // prettier-ignore
    const events = [
      { type: 'response.created', response: { id: 'resp_3', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: item('fc_1', '') },
      at('fc_1', '{"q":"Par'),
      { type: 'response.output_item.added', output_index: 0, item: item('fc_2', '') },
      at('fc_2', '{"q":"Rome"}'),
      at('fc_1', 'is"}'),
      { type: 'response.output_item.done', output_index: 0, item: item('fc_2', '{"q":"Rome"}') },
    ];
    const last = { type: 'response.completed', response: { id: 'resp_3', status: 'completed', model, output: [] } }; // prettier-ignore
    gateway.engine.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const sent = isWhole ? [...events, last] : events;
      const text = sent.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.write(text.join(''), () => (isWhole ? response.end() : response.destroy()));
    });
    await (await post({ model, input, stream: true }, {}, '/v1/responses')).text().catch(() => {});
    await until(async () => (await newest()).ended_at !== null);
    expect((await newest()).output).toMatchObject({
      id: 'resp_3',
      status: isWhole ? 'completed' : 'in_progress',
      output: [item('fc_1', '{"q":"Paris"}'), item('fc_2', '{"q":"Rome"}')],
    });
  });

  it('refuses what would come later', async () => {
    const ask = client().responses.create({ model, input, background: true });
    await expect(ask).rejects.toMatchObject({ status: 400, param: 'background' });
  });
});

it('asks the provider while the start is being committed, and answers when it is', async () => {
  const runner = gateway.app.dataSource.createQueryRunner();
  const before = gateway.engine.asked.length;
  let isAnswered = false;
  try {
    await runner.query('BEGIN');
    await runner.query('LOCK TABLE calls IN EXCLUSIVE MODE');
    const answer = post({ model: 'gpt-4o-mini', messages }).finally(() => (isAnswered = true));
    await until(() => gateway.engine.asked.length > before);
    expect(isAnswered).toBe(false);
    await runner.query('COMMIT');
    expect((await answer).status).toBe(200);
  } finally {
    await runner.release();
  }
});
