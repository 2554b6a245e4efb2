import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { DOCUMENT } from '../support/answers.js';
import { basic, useApp } from '../support/app.js';
import { aStart, anEnd, at } from '../support/factories.js';
import { aClient, callTool, recordedIn } from '../support/mcp.js';
import { plant, type Planted } from '../support/planted.js';

const PROJECT = 'acme/demo';
/** A budget of 4,000 tokens, counted as four bytes each, which is the documented rule. */
const MAX_LIST_BYTES = 4 * 4000;

const app = useApp();
let planted: Planted;
let writer: string;
let client: Client;

beforeAll(async () => {
  planted = await plant(app, PROJECT);
  await plant(app, 'else/demo');
  const turn = { id: 'b', trace_id: 'tree', thread_id: 'talk', turn_id: 'b' };
  const child = { id: 'c', trace_id: 'tree', parent_id: 'b', op_name: 'look up' };
  await app.post('/call/start', { start: aStart({ ...turn, inputs: { question: 'Why?' } }) });
  await app.post('/call/start', { start: aStart({ ...child, inputs: { n: 1, same: [1] } }) });
  const usage = { 'gpt-4o-mini': { prompt_tokens: 1000, completion_tokens: 100 } };
  await app.post('/call/end', {
    end: anEnd({ id: 'c', exception: 'no luck', summary: { usage } }),
  });
  await app.post('/call/end', { end: anEnd({ id: 'b', output: 'Because.' }) });
  writer = await app.aKey('writer', ['acme/*']);
  client = await aClient(app, `Bearer ${writer}`);
});
afterAll(() => client.close());

const call = (name: string, args: Record<string, unknown> = {}) =>
  callTool(client, name, { project_id: PROJECT, ...args });

/** A tool call as a JSON-RPC message for `/mcp`. */
const message = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

describe('the tools', () => {
  it('are a dozen and take at most 4,000 tokens to list', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'call_stats',
      'compare_calls',
      'give_feedback',
      'list_builds',
      'list_feedback',
      'list_jobs',
      'list_objects',
      'list_projects',
      'list_threads',
      'read_call',
      'read_object',
      'read_thread',
      'read_trace',
      'search_calls',
    ]);
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(MAX_LIST_BYTES);
  });

  it('describe arguments that are taken, and no others', async () => {
    const { schemas } = DOCUMENT.components;
    const { tools } = await client.listTools();
    for (const { name, inputSchema } of tools) {
      const dto = `${name.replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase())}ToolDto`;
      expect(Object.keys(schemas[dto].properties)).toEqual(
        expect.arrayContaining(Object.keys(inputSchema.properties!)),
      );
      expect(inputSchema.required ?? []).toEqual(schemas[dto].required ?? []);
    }
  });

  it('list_projects shows the projects of the key', async () => {
    const { data } = await callTool(client, 'list_projects');
    expect(data.projects).toEqual([expect.objectContaining({ project_id: PROJECT })]);
  });

  it('search_calls leaves evaluations out, unless they are asked for', async () => {
    const id = 'of-an-evaluation';
    const place = { id, trace_id: 'evaluation', op_name: 'Evaluation.evaluate' };
    await app.post('/call/start', { start: aStart(place) });
    const ids = async (args: Record<string, unknown>) =>
      (await call('search_calls', args)).data.calls.map((one: { id: string }) => one.id);
    expect(await ids({ limit: 100 })).not.toContain(id);
    expect(await ids({ filter: { sources: ['evaluation'] }, limit: 100 })).toContain(id);
    expect(await ids({ filter: { trace_ids: ['evaluation'] } })).toEqual([id]);
  });

  it('search_calls finds calls by a query, as brief rows or by columns, page by page', async () => {
    const query = { $expr: { $eq: [{ $getField: 'op_name' }, { $literal: 'look up' }] } };
    const { data } = await call('search_calls', { query });
    expect(data.calls).toEqual([
      {
        id: 'c',
        trace_id: 'tree',
        op: 'look up',
        started_at: '2026-01-01T00:00:00.000000Z',
        status: 'error',
        ms: 1000,
        tokens: 1100,
        cost: 0.00021,
        error: 'no luck',
      },
    ]);
    const { data: full } = await call('search_calls', { query, columns: ['inputs'] });
    expect(full.calls[0].inputs).toEqual({ n: 1, same: [1] });
    const seen: string[] = [];
    let after: unknown[] | undefined;
    do {
      const { data: page } = await call('search_calls', { limit: 3, ...(after && { after }) });
      seen.push(...page.calls.map(({ id }: { id: string }) => id));
      after = page.next_after;
    } while (after);
    const filter = { sources: ['production'] };
    const { body } = await app.post('/calls/query', {
      project_id: PROJECT,
      columns: ['id'],
      filter,
    });
    expect(seen.length).toBeGreaterThan(4);
    expect(seen.toSorted()).toEqual(body.calls.map(({ id }: { id: string }) => id).toSorted());
  });

  it('search_calls sorts, and pages by offset then', async () => {
    const sort_by = [{ field: 'id', direction: 'asc' }];
    const query = { $expr: { $eq: [{ $getField: 'trace_id' }, { $literal: 'tree' }] } };
    const { data } = await call('search_calls', { query, sort_by, limit: 1 });
    const offset = data.next_offset;
    const next = await call('search_calls', { query, sort_by, limit: 1, offset });
    expect([data.calls[0].id, next.data.calls[0].id]).toEqual(['b', 'c']);
  });

  it('read_call answers the parts of a call', async () => {
    const { data } = await call('read_call', { id: 'b' });
    expect(data).toMatchObject({
      id: 'b',
      inputs: { json: { question: 'Why?' } },
      output: { json: 'Because.' },
    });
    const { data: part } = await call('read_call', { id: 'c', part: 'exception' });
    expect(part).toEqual({ exception: { json: 'no luck' } });
  });

  it('read_trace shows a tree, and the payloads of chosen calls', async () => {
    const { data } = await call('read_trace', { trace_id: 'tree', call_ids: ['c', 'nobody'] });
    expect(data).toEqual({
      columns: ['depth', 'id', 'op', 'start_ms', 'ms', 'status', 'tokens', 'cost'],
      started_at: '2026-01-01T00:00:00.000000Z',
      calls: [
        [0, 'b', 'work', 0, 1000, 'success', null, null],
        [1, 'c', 'look up', 0, 1000, 'error', 1100, 0.00021, { error: 'no luck' }],
      ],
      payloads: {
        c: { inputs: { json: { n: 1, same: [1] } }, exception: { json: 'no luck' } },
        nobody: { left_out: 'no such call' },
      },
    });
  });

  it('compare_calls tells what differs', async () => {
    const { data, words } = await call('compare_calls', { left: 'b', right: 'c' });
    expect(data.differences).toEqual(
      expect.arrayContaining([
        { path: 'inputs.question', left: { json: 'Why?' } },
        { path: 'inputs.n', right: { json: 1 } },
        { path: 'output', left: { json: 'Because.' }, right: { json: null } },
        {
          path: 'summary.svc.status',
          left: { json: 'success' },
          right: { json: 'error' },
        },
      ]),
    );
    expect(words).toContain(`${data.differences.length} values differ`);
  });

  it('list_threads and read_thread show conversations', async () => {
    const { data } = await call('list_threads');
    expect(data.threads).toContainEqual(expect.objectContaining({ thread_id: 'talk' }));
    await app.post('/call/start', {
      start: {
        ...{ project_id: PROJECT, id: 'x1', turn_id: 'x1', thread_id: 'exam', op_name: 'turn' },
        ...{ started_at: at(1), attributes: { 'skein.source': 'evaluation' } },
      },
    });
    const names = async (args: Record<string, unknown>) =>
      (await call('list_threads', args)).data.threads.map((one: any) => one.thread_id);
    expect(await names({})).not.toContain('exam');
    expect(await names({ filter: { sources: ['evaluation'] } })).toEqual(['exam']);
    expect(await names({ filter: { sources: [] } })).toContain('exam');
    const { data: thread } = await call('read_thread', { thread_id: 'talk' });
    expect(thread.turns).toEqual([
      expect.objectContaining({
        id: 'b',
        inputs: { json: { question: 'Why?' } },
        output: { json: 'Because.' },
      }),
    ]);
  });

  it('call_stats counts by op', async () => {
    const { data } = await call('call_stats', { start: at(0), end: at(60), group_by: ['op_name'] });
    expect(data.call_buckets).toContainEqual(
      expect.objectContaining({ op_name: 'look up', sum_call_count: 1, p95_latency_ms: 1000 }),
    );
    expect(data.usage_buckets).toContainEqual(
      expect.objectContaining({ model: 'gpt-4o-mini', sum_total_tokens: 1100 }),
    );
  });

  it('list_objects and read_object show versions', async () => {
    const { data } = await call('list_objects', { filter: { object_ids: ['thing'] } });
    expect(data.objects[0]).toMatchObject({ object_id: 'thing', val: {} });
    const { data: version } = await call('read_object', { object_id: 'thing', digest: 'latest' });
    expect(version.digest).toBe(planted.objectDigest);
    expect(JSON.stringify(version.val.json)).toContain(planted.marker);
  });

  it('list_builds and list_jobs show what is trained', async () => {
    const { data } = await call('list_builds');
    expect(data.builds).toContainEqual(expect.objectContaining({ id: planted.build }));
    const { data: listed } = await call('list_jobs');
    expect(listed.jobs).toContainEqual(expect.objectContaining({ id: planted.job }));
    const { data: one } = await call('list_jobs', { id: planted.job });
    expect(one.job.json.status).toBe('running');
    expect(one.events).toContainEqual(expect.objectContaining({ id: planted.event }));
  });

  it('give_feedback stores what was sent, digit by digit, and once under an id', async () => {
    const payload = '{"value":12345678901234567890,"1":1.0}';
    const args = { project_id: PROJECT, call_id: 'b', feedback_type: 'agent', id: 'own' };
    const sent = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"give_feedback","arguments":${JSON.stringify(args).slice(0, -1)},"payload":${payload}}}}`;
    for (const _ of [1, 2]) {
      const { body } = await app.post('/mcp', sent, { key: writer });
      expect(body.result.isError).toBeUndefined();
    }
    const query = { $expr: { $eq: [{ $getField: 'feedback_type' }, { $literal: 'agent' }] } };
    const { text } = await app.post('/feedback/query', { project_id: PROJECT, query });
    expect(text).toContain(payload);
    const { data } = await call('list_feedback', { query });
    expect(data.feedback).toEqual([
      expect.objectContaining({ id: 'own', svc_ref: `svc:///${PROJECT}/call/b` }),
    ]);
    const { data: refused } = await call('give_feedback', {
      call_id: 'nobody',
      feedback_type: 'agent',
      payload: {},
    });
    expect(refused.code).toBe('not_found');
  });
});

describe('a refusal', () => {
  it('has the words of the HTTP error', async () => {
    for (const [name, path, args] of [
      ['search_calls', '/calls/query', { query: { $expr: { $nope: [] } } }],
      ['read_object', '/obj/read', { object_id: 'nothing', digest: 'latest' }],
      ['search_calls', '/calls/query', { project_id: 'else/demo' }],
      ['search_calls', '/calls/query', { project_id: 'nowhere/at all' }],
    ] as const) {
      const { isError, data } = await call(name, args);
      const sent = { project_id: PROJECT, ...args };
      const { body } = await app.post(path, sent, { key: writer });
      expect(isError).toBe(true);
      expect({ ...data, request_id: '' }).toEqual({ ...body, request_id: '' });
    }
  });

  it('names an argument that is unknown, missing or wrong', async () => {
    expect((await call('read_call', { id: 'b', idd: 1 })).data.detail).toBe('idd is unknown');
    expect((await call('read_call')).data.detail).toBe('id is required');
    expect((await call('read_call', { id: 'b', max_tokens: 1e6 })).data.detail).toContain('25000');
    expect((await call('nothing')).data.detail).toBe('there is no such tool');
    expect((await call('read_call', { id: 'nobody' })).data.code).toBe('not_found');
    expect((await call('read_thread', { thread_id: 'nobody' })).data.code).toBe('not_found');
    expect((await call('read_trace', { trace_id: 'nobody' })).data.code).toBe('not_found');
  });

  it('finds nothing of a foreign project, whichever tool asks', async () => {
    const { tools } = await client.listTools();
    for (const { name, inputSchema } of tools) {
      const others = Object.keys(inputSchema.properties!).includes('project_id');
      if (!others) continue;
      const { isError, data } = await call(name, {
        project_id: 'else/demo',
        id: name === 'list_jobs' ? planted.job : 'call',
        ...(name.includes('feedback') && { call_id: 'call', feedback_type: 'x', payload: {} }),
        ...(name === 'call_stats' && { start: at(0) }),
        ...(name === 'compare_calls' && { left: 'call', right: 'call' }),
        ...(name === 'read_object' && { object_id: 'thing', digest: 'latest' }),
        ...(name === 'read_thread' && { thread_id: 'x' }),
        ...(name === 'read_trace' && { trace_id: 'x' }),
      });
      expect([name, isError]).toEqual([name, true]);
      expect(data.detail).toMatch(/is unknown|no access to the project else\/demo/);
    }
  });

  it('lets a reader read and not write', async () => {
    const key = await app.aKey('reader', ['acme/*']);
    const reader = await aClient(app, basic(key));
    const { tools } = await reader.listTools();
    expect(tools).toHaveLength(13);
    expect(tools.map(({ name }) => name)).not.toContain('give_feedback');
    const args = { project_id: PROJECT, call_id: 'b', feedback_type: 'by reader', payload: {} };
    const { isError, data } = await callTool(reader, 'give_feedback', args);
    expect([isError, data.code, data.detail]).toEqual([
      true,
      'forbidden',
      'the tool needs a key with the role writer',
    ]);
    const [{ count }] = await app.query(
      `SELECT count(*)::int FROM feedback WHERE feedback_type = 'by reader'`,
    );
    expect(count).toBe(0);
    expect((await callTool(reader, 'read_call', { project_id: PROJECT, id: 'b' })).isError).toBe(
      false,
    );
    await reader.close();
  });
});

describe('POST /mcp', () => {
  it('serves the protocol of 2026-07-28 too, without a stream to listen to', async () => {
    const modern = await aClient(app, `Bearer ${writer}`, '2026-07-28');
    expect(modern.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect((await callTool(modern, 'list_projects')).data.projects).toHaveLength(1);
    await modern.close();
    const listen = {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    };
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    };
    expect((await app.post('/mcp', listen, { headers })).body.error.code).toBeLessThan(0);
  });

  it('has resources and prompts', async () => {
    const { resources } = await client.listResources();
    for (const { uri } of resources) {
      const { contents } = await client.readResource({ uri });
      expect((contents[0] as { text: string }).text).toMatch(/^# /);
    }
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual([
      'why_did_it_fail',
      'what_got_slower',
      'what_do_users_complain_about',
    ]);
    const { messages } = await client.getPrompt({
      name: 'why_did_it_fail',
      arguments: { project_id: PROJECT, trace_id: 'tree' },
    });
    expect(JSON.stringify(messages)).toContain('trace tree of the project acme/demo');
    await expect(client.getPrompt({ name: 'why_did_it_fail' })).rejects.toThrow('project_id');
    await expect(client.readResource({ uri: 'skein://nothing' })).rejects.toThrow('no such');
  });

  it('answers what is no request of the protocol', async () => {
    const ask = async (body: unknown, headers = {}) =>
      (await app.post('/mcp', body, { headers })).status;
    expect(await ask({ jsonrpc: '2.0', method: 'notifications/initialized' })).toBe(202);
    expect(await ask([message('list_projects', {})])).toBe(400);
    expect(await ask({ jsonrpc: '1.0', id: 1, method: 'ping' })).toBe(400);
    expect(await ask(message('list_projects', { x: 'x'.repeat(2 * 1024 * 1024) }))).toBe(413);
    const { body } = await app.post('/mcp', { jsonrpc: '2.0', id: 7, method: 'nothing' });
    expect(body).toMatchObject({ id: 7, error: { code: -32601 } });
  });

  it.each(['GET', 'DELETE'])('answers 405 to %s', async (method) => {
    const response = await fetch(`${app.url}/mcp`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toMatchObject({ code: 'method_not_allowed' });
  });

  it('refuses a page of another origin, and a request without a key', async () => {
    const ask = (headers: Record<string, string>) =>
      app.post('/mcp', message('list_projects', {}), { headers });
    expect((await ask({ origin: 'http://evil.example' })).status).toBe(403);
    expect((await ask({ origin: 'null' })).status).toBe(403);
    expect((await ask({ origin: app.url })).status).toBe(200);
    expect((await ask({ authorization: 'Bearer nothing' })).status).toBe(401);
  });
});

it('npm run mcp offers the same over stdio', async () => {
  const transport = (key: string) =>
    new StdioClientTransport({
      command: process.execPath,
      args: ['dist/src/server/commands/mcp.cli.js'],
      env: { PATH: process.env['PATH']!, SKEIN_URL: app.url, SKEIN_API_KEY: key },
    });
  const one = new Client({ name: 'test', version: '1' });
  await one.connect(transport(writer));
  expect((await one.listTools()).tools).toEqual((await client.listTools()).tools);
  const args = { project_id: PROJECT, id: 'b' };
  const { content } = await one.callTool({ name: 'read_call', arguments: args });
  expect(recordedIn((content[1] as { text: string }).text)).toEqual(
    (await callTool(client, 'read_call', args)).data,
  );
  await one.close();
  const refused = new Client({ name: 'test', version: '1' });
  await expect(refused.connect(transport('nothing'))).rejects.toThrow('must hold a valid key');
  await refused.close();
});
