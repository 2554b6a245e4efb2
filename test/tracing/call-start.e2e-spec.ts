import { useApp } from '../support/app.js';
import { UUID_V7, useCalls } from '../support/calls.js';
import { aStart, at } from '../support/factories.js';

describe('POST /call/start', () => {
  const app = useApp();
  const calls = useCalls(app);

  it('answers the ids, made up where they are missing', async () => {
    const { status, body } = await calls.start();
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(UUID_V7),
      trace_id: expect.stringMatching(UUID_V7),
    });
    expect((await calls.start({ id: 'mine', trace_id: 'my trace' })).body).toEqual({
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
    const { body } = await calls.start({ ...nothing, ...more });
    expect(await calls.read(body.id)).toMatchObject({
      attributes: {},
      inputs: {},
      display_name: null,
      svc_run_step: null,
    });
    expect(
      (
        await calls.start({
          id: 'id',
          trace_id: 'trace_id',
          parent_id: 'parent_id',
          svc_run_step: 0,
        })
      ).status,
    ).toBe(200);
  });

  it.each([
    ['gen_ai.operation.name', 'chat', 'chat'],
    ['openinference.span.kind', 'LLM', 'chat'],
    ['openinference.span.kind', 'agent', 'invoke_agent'],
    ['traceloop.span.kind', 'tool', 'execute_tool'],
    ['mlflow.spanType', 'RETRIEVER', 'retrieval'],
    ['mlflow.spanType', 'CHAT_MODEL', 'chat'],
    ['langfuse.observation.type', 'embedding', 'embeddings'],
    ['ai.operationId', 'ai.generateText.doGenerate', 'chat'],
    ['openinference.span.kind', 'CHAIN', null],
    ['openinference.span.kind', 7, null],
  ])('reads what a plain call does from its attribute %s=%s', async (name, value, operation) => {
    const id = (await calls.start({ attributes: { [name]: value } })).body.id;
    const [call] = await calls.stream({ filter: { call_ids: [id] }, columns: ['operation'] });
    expect(call.operation).toBe(operation);
    // a repeated start without the attribute removes the operation
    await calls.start({ id });
    const [again] = await calls.stream({ filter: { call_ids: [id] }, columns: ['operation'] });
    expect(again.operation).toBeNull();
  });

  it('gives a child without a trace the trace of its stored parent', async () => {
    const parent = (await calls.start({ id: 'parent' })).body;
    expect((await calls.start({ parent_id: 'parent' })).body.trace_id).toBe(parent.trace_id);
  });

  it('keeps the generated trace when the start is repeated', async () => {
    const first = (await calls.start({ id: 'again' })).body;
    expect((await calls.start({ id: 'again' })).body).toEqual(first);
  });

  it('replaces what an earlier start said, and keeps the end', async () => {
    await calls.start({
      id: 'a',
      op_name: 'old',
      inputs: { old: 1 },
      thread_id: 't',
      display_name: 'shown',
    });
    await calls.end({ id: 'a', output: 'kept' });
    await calls.start({ id: 'a', op_name: 'new', inputs: { new: 1 } });
    expect(await calls.read('a')).toMatchObject({
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
      { start: aStart({ project_id: calls.project_id, id: 'a', svc_user_id: 'mallory' }) },
      { key },
    );
    expect((await calls.read('a')).svc_user_id).toBe('grace');
  });

  it('answers sizes when they are asked for, of a trace at its root', async () => {
    await calls.start({ id: 'a', trace_id: 't', inputs: { text: 'x'.repeat(500) } });
    await calls.start({ id: 'b', trace_id: 't', parent_id: 'a' });
    const sizes = { include_storage_size: true, include_total_storage_size: true };
    const { body } = await app.post('/calls/query', { project_id: calls.project_id, ...sizes });
    const [a, b] = body.calls;
    expect(a.storage_size_bytes).toBeGreaterThan(500);
    expect(b.storage_size_bytes).toBeLessThan(100);
    expect(a.total_storage_size_bytes).toBe(a.storage_size_bytes + b.storage_size_bytes);
    expect(b.total_storage_size_bytes).toBeNull();
    const one = await app.post('/call/read', { project_id: calls.project_id, id: 'a', ...sizes });
    expect(one.body.call).toEqual(a);
    const columns = { project_id: calls.project_id, columns: ['id'], include_storage_size: true };
    const [narrow] = (await app.post('/calls/query', columns)).body.calls;
    expect(narrow.storage_size_bytes).toBe(a.storage_size_bytes);
    expect(await calls.read('a')).not.toHaveProperty('storage_size_bytes');
  });

  it('searches and sorts behind refs of the project, through several of them', async () => {
    const { project_id } = calls;
    const publish = async (object_id: string, val: object, project = project_id) => {
      const obj = { project_id: project, object_id, val };
      const { digest } = (await app.post('/obj/create', { obj })).body;
      return `svc:///${project}/object/${object_id}:${digest}`;
    };
    const prompt = await publish('prompt', { text: 'Be\u0000 brief', size: 2 });
    await calls.start({ id: 'a', inputs: { o: await publish('small', { lr: 0.1, prompt }) } });
    await calls.start({ id: 'b', inputs: { o: await publish('large', { lr: 2 }) } });
    await calls.start({ id: 'c', inputs: { o: { lr: 3 } } });
    await calls.start({ id: 'd', inputs: { o: await publish('far', { lr: 0.1 }, 'acme/far') } });
    const ask = async (more: object) => {
      const answer = await app.post('/calls/query', {
        project_id,
        expand_columns: ['inputs.o', 'inputs.o.prompt'],
        ...more,
      });
      return answer.body.calls?.map(({ id }: { id: string }) => id) ?? answer.body.detail;
    };
    const is = (field: string, literal: unknown) => ({
      query: { $expr: { $eq: [{ $getField: field }, { $literal: literal }] } },
    });
    const huge = await publish('huge', { lr: 4, text: 'x'.repeat(1024 * 1024) });
    await calls.start({ id: 'e', inputs: { o: huge } });
    expect(await ask(is('inputs.o.lr', 4))).toEqual([]);
    expect(await ask(is('inputs.o', huge))).toEqual(['e']);
    expect(await ask(is('inputs.o.lr', 0.1))).toEqual(['a']);
    expect(await ask(is('inputs.o.lr', 3))).toEqual(['c']);
    expect(await ask(is('inputs.o.prompt.size', 2))).toEqual(['a']);
    expect(await ask(is('inputs.o.prompt.text', 'Be\ufffd brief'))).toEqual(['a']);
    expect(await ask({ sort_by: [{ field: 'inputs.o.lr', direction: 'desc' }] })).toEqual([
      ...['c', 'b', 'a', 'd', 'e'],
    ]);
    const count = await app.post('/calls/query_stats', {
      ...{ project_id, expand_columns: ['inputs.o'] },
      ...is('inputs.o.lr', 2),
    });
    expect(count.body.count).toBe(1);
    expect(
      await ask({ expand_columns: Array.from({ length: 21 }, (_, i) => `inputs.x${i}`) }),
    ).toContain('20 names');
    const names = { include_usernames: true, columns: ['id'] };
    const [call] = (await app.post('/calls/query', { project_id, ...names })).body.calls;
    expect(call.svc_username).toBe('ada');
  });

  it("keeps a client's own members of the derived summary beside the derived ones", async () => {
    await calls.start({ id: 'a' });
    await calls.end({
      id: 'a',
      summary: { n: 1, svc: { views: { v: [1] }, status: 'mine' }, m: 2 },
    });
    await calls.start({ id: 'b' });
    await calls.end({ id: 'b', summary: { svc: 'text' } });
    const asked = { project_id: calls.project_id, include_costs: true };
    const texts = [
      (await app.post('/calls/stream_query', { project_id: calls.project_id })).text,
      (await app.post('/calls/stream_query', asked)).text,
      `${JSON.stringify((await app.post('/call/read', { project_id: calls.project_id, id: 'a' })).body.call)}\n${JSON.stringify((await app.post('/call/read', { ...asked, id: 'b' })).body.call)}\n`,
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
    await calls.start({ id: 'a', otel_dump: { span: 1 } });
    await calls.start({ id: 'b', attributes: { x: 1 }, otel_dump: { span: 1 } });
    expect((await calls.read('a')).attributes).toEqual({ otel_span: { span: 1 } });
    expect((await calls.read('b')).attributes).toEqual({ x: 1, otel_span: { span: 1 } });
  });

  it.each(['"banana"', 'true', 'false', '1'])(
    'takes no internal member from a client: skein_opaque %s',
    async (value) => {
      const forged = `"skein_opaque":${value},"skein_trace":"mine","skein_failed":true`;
      const begun = `{"start":{"project_id":"${calls.project_id}","id":"a","op_name":"x","started_at":"2026-01-01","inputs":{"a":1},${forged}}}`;
      expect((await app.post('/call/start', begun)).status).toBe(200);
      const ended = `{"end":{"project_id":"${calls.project_id}","id":"a","ended_at":"2026-01-02","output":"[1, 2]",${forged}}}`;
      expect((await app.post('/call/end', ended)).status).toBe(200);
      const call = await calls.read('a');
      expect(call).toMatchObject({
        inputs: { a: 1 },
        output: '[1, 2]',
        summary: { svc: { status: 'success' } },
      });
      expect(call.trace_id).not.toBe('mine');
    },
  );

  it('takes a step in any spelling of a whole number', async () => {
    const sent = `{"start":{"project_id":"${calls.project_id}","id":"a","op_name":"x","started_at":"2026-01-01","svc_run_step":1.2e1}}`;
    expect((await app.post('/call/start', sent)).status).toBe(200);
    expect((await calls.read('a')).svc_run_step).toBe(12);
    expect((await app.post('/call/start', sent.replace('1.2e1', '1e-20000'))).status).toBe(200);
    expect((await calls.read('a')).svc_run_step).toBe(0);
  });

  it('ignores fields it does not know, those of the end included', async () => {
    const { body } = await calls.start({
      unknown: 1,
      output: 'not mine',
      ended_at: at(9),
      skein_user: 'mallory',
      skein_opaque: true,
    });
    expect(await calls.read(body.id)).toMatchObject({
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
    const { status, body } = await calls.start(overrides);
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
    const body = JSON.stringify({
      start: aStart({ project_id: calls.project_id, inputs: { deep: 0 } }),
    }).replace('"deep":0', `"deep":${deep}`);
    expect(await app.post('/call/start', body)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('1000') },
    });
    expect(await calls.stream()).toEqual([]);
  });

  it('stores JSON nested as deep as the limit allows', async () => {
    const deep = `${'['.repeat(990)}${']'.repeat(990)}`;
    const body = JSON.stringify({
      start: aStart({ project_id: calls.project_id, id: 'deep', inputs: { deep: 0 } }),
    }).replace('"deep":0', `"deep":${deep}`);
    expect((await app.post('/call/start', body)).status).toBe(200);
    expect(
      (await app.post('/call/read', { project_id: calls.project_id, id: 'deep' })).text,
    ).toContain(deep);
  });
});
