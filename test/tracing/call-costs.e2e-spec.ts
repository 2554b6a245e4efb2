import { linesOf, useApp } from '../support/app.js';

const PROJECT = 'acme/priced';

const app = useApp();

const price = (prompt: number | string, effective_date: string, more = {}) => ({
  prompt_token_cost: prompt,
  completion_token_cost: 0.5,
  effective_date,
  ...more,
});
const createCosts = (costs: object, project_id = PROJECT) =>
  app.post('/cost/create', { project_id, costs });

interface Options {
  project_id?: string;
  started_at?: string;
  /** JSON text. */
  summary?: string;
}

async function aCall(id: string, usage: object | null, options: Options = {}) {
  const { project_id = PROJECT, started_at = '2026-02-01T00:00:00Z' } = options;
  const summary = options.summary ?? JSON.stringify({ usage });
  await app.post('/call/start', { start: { project_id, id, op_name: 'op', started_at } });
  await app.post(
    '/call/end',
    `{"end":{"project_id":"${project_id}","id":${JSON.stringify(id)},"ended_at":"${started_at}","summary":${summary}}}`,
  );
}
const read = (id: string, project_id = PROJECT) =>
  app.post('/call/read', { project_id, id, include_costs: true });
const costsOf = async (id: string, project_id = PROJECT) =>
  (await read(id, project_id)).body.call.summary.svc.costs;
const explain = async (...call_ids: string[]) =>
  app.post('/cost/explain', { project_id: PROJECT, call_ids });

describe('include_costs', () => {
  it('takes the record with the latest effective date that is not after the start of the call', async () => {
    const id = async (prompt: number, day: string) =>
      (await createCosts({ dated: price(prompt, day) })).body.ids[0][0];
    const first = await id(1, '2026-01-10T00:00:00Z');
    const third = await id(3, '2026-01-30T00:00:00Z');
    const second = await id(2, '2026-01-20T12:00:00.000001Z');
    const usage = { dated: { prompt_tokens: 10 } };
    const starts = {
      'before all': '2026-01-09T23:59:59.999999Z',
      'at the first': '2026-01-10T00:00:00Z',
      'a microsecond before the second': '2026-01-20T12:00:00Z',
      'at the second': '2026-01-20T12:00:00.000001Z',
      'after all': '2027-01-01T00:00:00Z',
    };
    const used: Record<string, unknown> = {};
    for (const [name, started_at] of Object.entries(starts)) {
      await aCall(name, usage, { started_at });
      used[name] = (await costsOf(name)).dated.id;
    }
    expect(used).toEqual({
      'before all': null,
      'at the first': first,
      'a microsecond before the second': first,
      'at the second': second,
      'after all': third,
    });
  });

  it('lets the record that was made last win where dates are equal', async () => {
    await createCosts({ twice: price(1, '2026-01-01') });
    const { body } = await createCosts({ twice: price(2, '2026-01-01') });
    await aCall('twice', { twice: { prompt_tokens: 1 } });
    expect((await costsOf('twice')).twice.id).toBe(body.ids[0][0]);
  });

  it('shows tokens, unit prices, totals and the record', async () => {
    const { body } = await app.post(
      '/cost/create',
      `{"project_id":"${PROJECT}","costs":{"full":{"prompt_token_cost":1.5e-7,"completion_token_cost":0.1234567890123456789,
        "cache_read_input_token_cost":1e-8,"effective_date":"2026-01-01","provider_id":"acme"}}}`,
    );
    await aCall('full', {
      full: {
        prompt_tokens: 100,
        completion_tokens: 10,
        requests: 2,
        prompt_tokens_details: { cached_tokens: 40 },
      },
    });
    const answer = await read('full');
    expect(answer.text).toContain(
      '"costs":{"full":{"prompt_tokens":60,"completion_tokens":10,"cache_read_input_tokens":40,"cache_creation_input_tokens":0,"requests":2,' +
        '"prompt_token_cost":0.00000015,"completion_token_cost":0.1234567890123456789,"cache_read_input_token_cost":0.00000001,"cache_creation_input_token_cost":0.00000015,' +
        '"prompt_token_cost_unit":"USD","completion_token_cost_unit":"USD",' +
        '"prompt_tokens_total_cost":0.000009,"completion_tokens_total_cost":1.234567890123456789,"cache_read_input_tokens_total_cost":0.0000004,"cache_creation_input_tokens_total_cost":0,"total_cost":1.234577290123456789,' +
        `"id":"${body.ids[0][0]}","pricing_level":"project","effective_date":"2026-01-01T00:00:00.000000Z","provider_id":"acme"}}`,
    );
  });

  it('takes built-in prices, as of the start, for models without a record of the project', async () => {
    const usage = { o3: { prompt_tokens: 1_000_000, completion_tokens: 1 } };
    await aCall('o3 before', usage, { started_at: '2025-05-01T00:00:00Z' });
    await aCall('o3 after', usage, { started_at: '2025-07-01T00:00:00Z' });
    expect((await costsOf('o3 before')).o3).toMatchObject({
      pricing_level: 'builtin',
      id: 'openai/o3',
      prompt_tokens_total_cost: 10,
    });
    expect((await costsOf('o3 after')).o3).toMatchObject({
      prompt_tokens_total_cost: 2,
      effective_date: '2025-06-10T00:00:00.000000Z',
    });
    const { results } = (await app.post('/cost/query', { project_id: PROJECT })).body;
    expect(results.filter(({ llm_id }: any) => llm_id === 'o3')).toEqual([]);
  });

  it('takes a record of the project before a built-in price, from its date on', async () => {
    await createCosts({ 'gpt-4o': price(1, '2026-01-01') });
    const usage = { 'gpt-4o': { prompt_tokens: 1 } };
    await aCall('own price', usage, { started_at: '2026-01-01T00:00:00Z' });
    await aCall('no own price yet', usage, { started_at: '2025-12-31T00:00:00Z' });
    expect((await costsOf('own price'))['gpt-4o'].pricing_level).toBe('project');
    expect((await costsOf('no own price yet'))['gpt-4o'].pricing_level).toBe('builtin');
  });

  it('shows a model without a price as unpriced, never as 0', async () => {
    await aCall('unpriced', { mystery: { prompt_tokens: 5, completion_tokens: 0 } });
    expect((await costsOf('unpriced')).mystery).toEqual({
      prompt_tokens: 5,
      completion_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      requests: null,
      prompt_token_cost: null,
      completion_token_cost: null,
      cache_read_input_token_cost: null,
      cache_creation_input_token_cost: null,
      prompt_token_cost_unit: null,
      completion_token_cost_unit: null,
      prompt_tokens_total_cost: null,
      completion_tokens_total_cost: null,
      cache_read_input_tokens_total_cost: null,
      cache_creation_input_tokens_total_cost: null,
      total_cost: null,
      id: null,
      pricing_level: 'unpriced',
      effective_date: null,
      provider_id: null,
    });
  });

  it('does not know what usage costs that cannot be read, and shows it all the same', async () => {
    await createCosts({ torn: price(1, '2026-01-01') });
    await aCall('torn', { torn: { prompt_tokens: '1000', completion_tokens: 4 } });
    expect((await costsOf('torn')).torn).toMatchObject({
      prompt_token_cost: 1,
      prompt_tokens_total_cost: null,
      completion_tokens_total_cost: 2,
      total_cost: null,
      pricing_level: 'project',
    });
    const [{ models }] = (await explain('torn')).body.calls;
    expect(models[0]).toMatchObject({ total_cost: null, unit: null });
    expect(models[0].terms[0]).toMatchObject({
      total: null,
      text: 'an unknown number of prompt tokens: the usage holds no count that can be read',
    });
  });

  it('prices the first 1000 models of a call, and none whose name is longer than a name of a record', async () => {
    const long = `gpt-4o-${'x'.repeat(300)}`;
    const many = Array.from({ length: 1500 }, (_, i) => [`m${i}`, { prompt_tokens: 1 }]);
    await aCall('crowd', { [long]: { prompt_tokens: 1 }, ...Object.fromEntries(many) });
    const costs = await costsOf('crowd');
    expect(Object.keys(costs)).toHaveLength(1000);
    expect(costs).not.toHaveProperty('m999');
    expect(costs[long]).toMatchObject({ pricing_level: 'unpriced', total_cost: null });
    expect((await explain('crowd')).body.calls[0].models).toHaveLength(1000);
  });

  it('adds up nothing where units differ', async () => {
    await createCosts({ mixed: price(1, '2026-01-01', { completion_token_cost_unit: 'EUR' }) });
    await aCall('mixed', { mixed: { prompt_tokens: 1, completion_tokens: 1 } });
    expect((await costsOf('mixed')).mixed).toMatchObject({
      prompt_tokens_total_cost: 1,
      completion_tokens_total_cost: 0.5,
      total_cost: null,
    });
  });

  it('prices with no record of another project', async () => {
    await createCosts({ foreign: price(1, '2026-01-01') }, 'acme/other');
    await aCall('foreign', { foreign: { prompt_tokens: 1 } });
    expect((await costsOf('foreign')).foreign.pricing_level).toBe('unpriced');
  });

  it.each([
    ['no usage', '{}'],
    ['usage that is no object', '{"usage":[1]}'],
    ['usage of null', '{"usage":null}'],
    ['a model that is no object', '{"usage":{"m":5}}'],
    ['costs of its own', '{"svc":{"costs":7},"usage":{}}'],
  ])('is an empty object for a summary with %s', async (name, summary) => {
    await aCall(name, null, { summary });
    expect(await costsOf(name)).toEqual({});
  });

  it('leaves the stored JSON as it was sent, also where PostgreSQL cannot take it apart', async () => {
    const summary =
      '{"usage": {"a\\u0000": {"prompt_tokens": 1.0},\n "gpt-4o":{"prompt_tokens":2}}, "x": 1e400, "y": "\\ud83d"}';
    await aCall('opaque', null, { summary });
    const stored = summary.replace('\n', ' ').slice(0, -1);
    for (const answer of [
      await read('opaque'),
      await app.post('/calls/stream_query', {
        project_id: PROJECT,
        filter: { call_ids: ['opaque'] },
        include_costs: true,
      }),
    ])
      expect(answer.text.replace('\n ', '  ')).toContain(`"summary":${stored},"svc":{`);
    expect(await costsOf('opaque')).toMatchObject({
      'a\0': { prompt_tokens: 1, pricing_level: 'unpriced' },
      'gpt-4o': { prompt_tokens: 2, pricing_level: 'project' },
    });
  });

  it('answers the same from /call/read, /calls/query and /calls/stream_query, and only when asked', async () => {
    const asked = { project_id: PROJECT, filter: { call_ids: ['full'] }, include_costs: true };
    const costs = await costsOf('full');
    const [line] = linesOf(await app.post('/calls/stream_query', asked));
    expect(line.summary.svc.costs).toEqual(costs);
    const { calls } = (await app.post('/calls/query', { ...asked, columns: ['op_name'] })).body;
    expect(calls[0].summary.svc.costs).toEqual(costs);
    const plain = await app.post('/calls/query', { ...asked, include_costs: false });
    expect(plain.body.calls[0].summary.svc).not.toHaveProperty('costs');
    const none = await app.post('/call/read', {
      project_id: PROJECT,
      id: 'none',
      include_costs: true,
    });
    expect(none.body).toEqual({ call: null });
    expect((await app.post('/calls/query', { ...asked, include_costs: 'yes' })).status).toBe(400);
  });

  it('frees the connection of a client that leaves', async () => {
    const project_id = 'acme/left';
    const summary = { usage: { m: { prompt_tokens: 1 } }, filler: 'x'.repeat(20_000) };
    const item = (id: string) => [
      {
        mode: 'start',
        req: { start: { project_id, id, op_name: 'op', started_at: '2026-01-01' } },
      },
      { mode: 'end', req: { end: { project_id, id, ended_at: '2026-01-01', summary } } },
    ];
    const batch = Array.from({ length: 1000 }, (_, i) => item(`c${i}`)).flat();
    await app.post('/call/upsert_batch', { batch });
    for (let i = 0; i < 40; i++) {
      const response = await fetch(`${app.url}/calls/stream_query`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Basic ${Buffer.from(`me:${app.key}`).toString('base64')}`,
        },
        body: JSON.stringify({ project_id, include_costs: true }),
      });
      await response.body!.cancel();
    }
    const all = linesOf(await app.post('/calls/stream_query', { project_id, include_costs: true }));
    expect(all).toHaveLength(1000);
    expect(all[999].summary.svc.costs.m.prompt_tokens).toBe(1);
  });
});

describe('/cost/explain', () => {
  it('explains tokens × unit price = total, and why the record won', async () => {
    const answer = await explain('full', 'o3 after', 'unpriced', 'nowhere', 'full');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.body.not_found).toEqual(['nowhere']);
    expect(answer.body.calls.map(({ id }: any) => id)).toEqual(['full', 'o3 after', 'unpriced']);
    const [full, o3, unpriced] = answer.body.calls.map(({ models }: any) => models[0]);
    expect(full).toMatchObject({ llm_id: 'full', pricing_level: 'project', unit: 'USD' });
    expect(full.record).toMatchObject({
      provider_id: 'acme',
      effective_date: '2026-01-01T00:00:00.000000Z',
    });
    expect(full.terms.map(({ text }: any) => text)).toEqual([
      '60 prompt tokens × 0.00000015 USD = 0.000009 USD',
      '10 completion tokens × 0.1234567890123456789 USD = 1.234567890123456789 USD',
      '40 cache read input tokens × 0.00000001 USD = 0.0000004 USD',
    ]);
    expect(answer.text).toContain('"total_cost":1.234577290123456789,');
    expect(full.why).toMatch(/latest effective_date.*before built-in/);
    expect(o3.why).toMatch(/no record for o3 .* as openai\/o3, since 2025-06-10/);
    expect(unpriced).toMatchObject({ record: null, pricing_level: 'unpriced', total_cost: null });
    expect(unpriced.terms[0]).toMatchObject({
      tokens: 5,
      total: null,
      text: '5 prompt tokens, without a price',
    });
    expect(unpriced.why).toMatch(/unknown, not 0/);
  });

  it('agrees with include_costs', async () => {
    for (const id of ['full', 'o3 after', 'mixed', 'unpriced', 'opaque']) {
      const costs: any[] = Object.values(await costsOf(id));
      const [{ models }] = (await explain(id)).body.calls;
      expect(models.map((model: any) => model.total_cost)).toEqual(
        costs.map((cost) => cost.total_cost),
      );
      expect(models.map((model: any) => model.record?.id ?? null)).toEqual(
        costs.map((cost) => cost.id),
      );
    }
  });

  it('finds no deleted calls and none of another project', async () => {
    await aCall('deleted', {});
    await app.post('/calls/delete', { project_id: PROJECT, call_ids: ['deleted'] });
    await aCall('abroad', {}, { project_id: 'acme/abroad' });
    expect((await explain('deleted', 'abroad')).body).toEqual({
      calls: [],
      not_found: ['deleted', 'abroad'],
    });
  });

  it.each([
    [{ call_ids: [] }],
    [{ call_ids: Array.from({ length: 101 }, (_, i) => `${i}`) }],
    [{ call_ids: [5] }],
    [{}],
  ])('refuses %j', async (fields) => {
    expect(await app.post('/cost/explain', { project_id: PROJECT, ...fields })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});

describe('/calls/usage and /trace/usage', () => {
  const project_id = 'acme/used';
  const ask = (path: string, body: object) => app.post(path, { project_id, ...body });
  const entry = (requests: number, prompt: number, completion: number, cached = 0) => ({
    requests,
    prompt_tokens: prompt,
    completion_tokens: completion,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    total_tokens: prompt + completion + cached,
  });
  beforeAll(async () => {
    await createCosts({ m: price(0.1, '2026-01-01') }, project_id);
    const begin = (id: string, parent_id: string | null, summary?: object) => {
      const start = { project_id, id, parent_id, trace_id: 'trace', op_name: 'op' };
      const at = { started_at: '2026-02-01T00:00:00Z' };
      return app.post('/call/upsert_batch', {
        batch: [
          { mode: 'start', req: { start: { ...start, ...at } } },
          ...(summary
            ? [{ mode: 'end', req: { end: { project_id, id, ended_at: at.started_at, summary } } }]
            : []),
        ],
      });
    };
    const asked = {
      prompt_tokens: 10,
      completion_tokens: 4,
      prompt_tokens_details: { cached_tokens: 3 },
    };
    await begin('root', null);
    await begin('sdk', 'root', {
      usage: { m: { requests: 2, prompt_tokens: 20, completion_tokens: 4 } },
    });
    await begin('ask', 'sdk', { usage: { m: asked, unheard: { input_tokens: 1 } } });
    await begin('again', 'sdk', { usage: { m: { prompt_tokens: 10 } } });
    await begin('deleted', 'root', { usage: { m: { prompt_tokens: 1000 } } });
    await ask('/calls/delete', { call_ids: ['deleted'] });
  });
  const m = entry(2, 17, 4, 3);
  const unheard = entry(1, 1, 0);

  it('answer calls with their descendants, none of whose tokens counts twice', async () => {
    const { body } = await ask('/calls/usage', { call_ids: ['root', 'ask', 'nothing'] });
    expect(body).toEqual({
      call_usage: { root: { m, unheard }, ask: { m: entry(1, 7, 4, 3), unheard }, nothing: {} },
      unfinished_call_ids: ['root'],
    });
    const all = await ask('/trace/usage', { filter: { trace_ids: ['trace'] } });
    expect(Object.keys(all.body.call_usage).toSorted()).toEqual(['again', 'ask', 'root', 'sdk']);
    expect(all.body.call_usage.sdk).toEqual({ m, unheard });
    const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: 'again' }] } };
    expect((await ask('/trace/usage', { query })).body).toEqual({
      call_usage: { again: { m: entry(1, 10, 0) } },
      unfinished_call_ids: [],
    });
  });

  it('add what they cost when asked, null where that is unknown', async () => {
    const { text, body } = await ask('/calls/usage', { call_ids: ['root'], include_costs: true });
    expect(text).toContain('"prompt_tokens_total_cost":1.7,"completion_tokens_total_cost":2');
    expect(body.call_usage.root.m).toEqual({
      ...m,
      prompt_tokens_total_cost: 1.7,
      completion_tokens_total_cost: 2,
      cache_read_input_tokens_total_cost: 0.3,
      cache_creation_input_tokens_total_cost: 0,
    });
    expect(body.call_usage.root.unheard.prompt_tokens_total_cost).toBeNull();
  });

  it('refuse to sum up a part of the calls', async () => {
    for (const [path, which] of Object.entries({
      '/calls/usage': { call_ids: ['root'] },
      '/trace/usage': {},
    })) {
      expect((await ask(path, { ...which, limit: 4 })).status).toBe(200);
      const refused = await ask(path, { ...which, limit: 3 });
      expect(refused).toMatchObject({
        status: 413,
        body: { detail: expect.stringContaining('over 3 calls') },
      });
    }
    expect((await ask('/calls/usage', { call_ids: ['id'], limit: 0 })).body.call_usage).toEqual({
      id: {},
    });
    expect((await ask('/calls/usage', { call_ids: Array(1001).fill('a') })).status).toBe(400);
  });

  it('refuse a usage that takes over 1 MiB', async () => {
    await aCall('large', { ['x'.repeat(1024 * 1024)]: { prompt_tokens: 1 } }, { project_id });
    const refused = await ask('/calls/usage', { call_ids: ['large'] });
    expect(refused).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining('call large') },
    });
  });
});
