import { linesOf } from '../support/app.js';
import { eventsOf } from '../support/engine.js';
import { messages, project_id, useGateway } from '../support/gateway.js';
import { previewOf } from '../support/preview.js';

const gateway = useGateway();
const { client, read, newest } = gateway;

describe('checkpoints', () => {
  let model: string;
  const serve = (step: number, upstream_model: string, more: object = {}, as = gateway.app.key) =>
    previewOf(gateway.app).call(
      'POST',
      '/trainer/serving',
      { model_id: model, step, provider: 'vllm', upstream_model, ttl_seconds: 60, ...more },
      { key: as },
    );
  const asked = async (name: string, options: object = {}) => {
    await client(options).chat.completions.create({ model: name, messages });
    return gateway.engine.last.body.model;
  };

  beforeAll(async () => {
    const preview = previewOf(gateway.app);
    model = await preview.aModel({ name: 'agent' });
    for (const _ of [1, 2]) {
      const job = await preview.aJob(model);
      const { lease_token: token } = (await preview.claim()).body;
      await preview.start(job, token);
      await preview.complete(job, token);
    }
    const trainer = await gateway.app.aKey('trainer', [project_id]);
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
    const wide = await gateway.app.aKey('writer', ['acme/*', 'other/*']);
    expect(await asked('wandb-artifact:///acme/demo/agent:step2', { apiKey: wide })).toBe('lora-2');
    const { summary, inputs } = await newest();
    expect([inputs.model, Object.keys(summary.usage)]).toEqual([
      'wandb-artifact:///acme/demo/agent:step2',
      ['agent:step2'],
    ]);
    const { body } = await gateway.app.post('/lineage/query', {
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
    const { body } = await previewOf(gateway.app).call('GET', `/models/${model}/checkpoints/2`);
    expect(body.serving).toEqual([
      { provider: 'vllm', upstream_model: 'lora-2', expires_at: expect.any(String) },
    ]);
    const servable = await previewOf(gateway.app).call('GET', '/trainer/models?base_model=Qwen/Q');
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
    const other = await previewOf(gateway.app).aModel({ project: 'other' });
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
    expect((await gateway.app.post('/models/promote', promote)).status).toBe(200);
    expect(await asked('agent:current')).toBe('lora-1');
    expect(await asked('wandb-artifact:///acme/demo/agent:current')).toBe('lora-1');
    expect((await newest()).summary.usage).toHaveProperty(['agent:step1']);
    const checkpoint = await previewOf(gateway.app).call('GET', `/models/${model}/checkpoints/1`);
    expect(checkpoint.body.aliases).toEqual(['current']);
    const { body } = await previewOf(gateway.app).call('GET', '/trainer/models?base_model=Qwen/Q');
    const { steps } = body.data.find(({ id }: { id: string }) => id === model);
    expect(steps).toContainEqual({ step: 1, files: false, aliases: ['current'] });
  });

  it('are not chosen, nor told to servers, when they were trained on purged calls', async () => {
    const taint = (at: string) =>
      gateway.app.query(
        `UPDATE checkpoints SET tainted_at = ${at} WHERE model_id = $1 AND step = 2`,
        [model],
      );
    await taint('now()');
    expect(await asked('agent')).toBe('lora-1');
    const { body } = await previewOf(gateway.app).call('GET', '/trainer/models?base_model=Qwen/Q');
    const { steps } = body.data.find(({ id }: { id: string }) => id === model);
    expect(steps.map(({ step }: { step: number }) => step)).toEqual([1, 0]);
    await taint('NULL');
  });

  it('end when their server says so, or says nothing more', async () => {
    const end = { model_id: model, step: 2, provider: 'vllm' };
    expect((await previewOf(gateway.app).call('POST', '/trainer/serving/end', end)).body).toEqual(
      {},
    );
    expect(await asked('agent')).toBe('lora-1');
    await gateway.app.query(`UPDATE served_checkpoints SET expires_at = now()`);
    await expect(asked('agent')).rejects.toMatchObject({ status: 404 });
  });
});

describe('POST /completions/create', () => {
  const create = (inputs: object, more: object = {}, path = '/completions/create') =>
    gateway.app.post(path, { project_id, inputs, ...more }, { key: gateway.key });

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
    expect(gateway.engine.last.body).toEqual({ model: 'gpt-4o-mini', messages, seed: 1 });
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

  it('says that it is of the playground, as requests of the gateway may in a header', async () => {
    const { body } = await create({ model: 'gpt-4o-mini', messages }, { source: 'playground' });
    const calls = async (sources: string[]) =>
      linesOf(
        await gateway.app.post(
          '/calls/stream_query',
          { project_id, filter: { sources } },
          { key: gateway.key },
        ),
      ).map(({ id }) => id);
    expect(await calls(['playground'])).toEqual([body.weave_call_id]);
    const answer = await gateway.app.post(
      '/v1/chat/completions',
      { model: 'gpt-4o-mini', messages },
      {
        key: gateway.key,
        headers: {
          'X-Skein-Project': project_id,
          'X-Skein-Attributes': '{"skein.source":"evaluation"}',
        },
      },
    );
    expect(await calls(['evaluation'])).toEqual([answer.headers.get('x-skein-call-id')]);
    expect(await calls(['production'])).not.toContain(body.weave_call_id);
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
      await gateway.app.post('/obj/create', { obj: { project_id, object_id: 'prompt', val } })
    ).body;
    const said = { role: 'assistant', content: 'I am {mood}' };
    const parts = { role: 'user', content: [{ type: 'text', text: '{n}?' }] };
    await create({
      model: 'gpt-4o-mini',
      messages: [said, parts],
      prompt: `svc:///${project_id}/object/prompt:${digest}`,
      template_vars: { mood: 'kind "$&"', n: 3 },
    });
    expect(gateway.engine.last.body.messages).toEqual([
      { role: 'system', content: 'Be kind "$&", not {other}' },
      said,
      { role: 'user', content: [{ type: 'text', text: '3?' }] },
    ]);
  });

  it('adds no more than a limit, however often a short text asks for a long value', async () => {
    const before = gateway.engine.asked.length;
    // filled in, the messages would have 20 GB
    const message = { role: 'user', content: '{a}'.repeat(1000) };
    const template_vars = { a: 'x'.repeat(100_000) };
    const inputs = { model: 'gpt-4o-mini', messages: Array(200).fill(message), template_vars };
    const { status, body } = await create(inputs);
    expect([status, body.detail]).toEqual([
      400,
      expect.stringContaining('over 1048576 characters'),
    ]);
    expect(gateway.engine.asked).toHaveLength(before);
  });

  it('answers 200 where a provider fails, and an error where the request does', async () => {
    gateway.engine.next((_, response) =>
      response.writeHead(200).end('1,"weave_call_id":"of another"'),
    );
    expect((await create({ model: 'gpt-4o-mini', messages })).body).toEqual({
      response: { error: 'the answer is not JSON' },
      weave_call_id: (await newest()).id,
    });
    gateway.engine.next((_, response) =>
      response.writeHead(400).end('{"error":{"message":"too long"}}'),
    );
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
      gateway.app.post('/obj/create', {
        obj: { project_id, object_id, val: { _type: 'Provider', base_url } },
      });
    await provider('mine', `${gateway.engine.url}/`);
    await provider('inside', 'http://169.254.169.254/latest');
    await provider('slashes', `${'/'.repeat(300_000)}x`);
    expect((await create({ model: 'custom::mine::o3', messages })).status).toBe(200);
    expect(gateway.engine.last.body.model).toBe('o3');
    const before = gateway.engine.asked.length;
    for (const [model, message] of [
      ['custom::inside::o3', /base_url belongs to no provider/],
      // models that the operator does not allow at this address, such as a checkpoint of another project
      ['custom::mine::lora-of-another', /not one of the models/],
      // a pattern that backtracks at each slash would take minutes
      ['custom::slashes::o3', /base_url belongs to no provider/],
    ] as const) {
      const refused = await create({ model, messages });
      expect([model, refused.status, refused.body.detail]).toEqual([model, 400, expect.stringMatching(message)]); // prettier-ignore
    }
    expect(gateway.engine.asked).toHaveLength(before);
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
    gateway.engine.next((_, response) => response.writeHead(500).end('no'));
    expect((await lines({ model: 'gpt-4o-mini', messages }))[1]).toEqual({
      error: 'the provider plain answered 500',
    });
    gateway.engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventsOf(asked)[1], () => response.destroy());
    });
    const cut = create({ model: 'gpt-4o-mini', messages }, {}, '/completions/create_stream');
    await expect(cut).rejects.toThrow();
  });
});
