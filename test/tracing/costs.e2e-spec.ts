import { useApp } from '../support/app.js';

const PROJECT = 'acme/costs';

const app = useApp();

const price = (fields: object = {}) => ({
  prompt_token_cost: 0.001,
  completion_token_cost: 0.002,
  ...fields,
});
const create = (costs: object | string, project_id = PROJECT, options = {}) =>
  app.post(
    '/cost/create',
    typeof costs === 'string'
      ? `{"project_id":${JSON.stringify(project_id)},"costs":${costs}}`
      : { project_id, costs },
    options,
  );
const query = (fields: object = {}, project_id = PROJECT) =>
  app.post('/cost/query', { project_id, ...fields });
const equals = (field: string, literal: unknown) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: literal }] },
});

describe('/cost/create and /cost/query', () => {
  it('fills in the defaults', async () => {
    const project = 'acme/defaults';
    const before = new Date();
    const created = await create({ 'gpt-mine': price() }, project);
    expect(created).toMatchObject({
      status: 200,
      body: { ids: [[expect.any(String), 'gpt-mine']] },
    });
    const { results } = (await query({}, project)).body;
    expect(results).toEqual([
      {
        id: created.body.ids[0][0],
        llm_id: 'gpt-mine',
        prompt_token_cost: 0.001,
        completion_token_cost: 0.002,
        prompt_token_cost_unit: 'USD',
        completion_token_cost_unit: 'USD',
        effective_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        provider_id: 'default',
        cache_read_input_token_cost: null,
        cache_creation_input_token_cost: null,
      },
    ]);
    expect(Date.parse(results[0].effective_date)).toBeGreaterThan(before.getTime() - 60_000);
  });

  it('takes every field, nulls for absent ones, and keeps the order of the models', async () => {
    const project = 'acme/every';
    const fields = {
      cache_read_input_token_cost: 0.1,
      cache_creation_input_token_cost: 0.2,
      prompt_token_cost_unit: 'EUR',
      completion_token_cost_unit: 'EUR',
      effective_date: '2026-01-01T00:00:00.123456Z',
      provider_id: 'acme',
    };
    const nulls = Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
    const { body } = await create({ z: price(fields), a: price(nulls) }, project);
    expect(body.ids.map(([, model]: any) => model)).toEqual(['z', 'a']);
    const { results } = (await query({}, project)).body;
    expect(results.map(({ llm_id }: any) => llm_id)).toEqual(['a', 'z']);
    expect(results[1]).toMatchObject({ ...price(), ...fields });
    expect(results[0]).toMatchObject({ ...price(), provider_id: 'default' });
  });

  it.each([
    ['1.5e-7', '0.00000015'],
    ['0.00000015', '0.00000015'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1.50', '1.50'],
    ['0', '0'],
    ['1E2', '100'],
    ['1e-40', `0.${'0'.repeat(39)}1`],
    ['10e-41', `0.${'0'.repeat(39)}10`],
  ])('stores %s exactly and answers %s', async (sent, answered) => {
    const model = `exact ${sent}`;
    await create(
      `{${JSON.stringify(model)}:{"prompt_token_cost":${sent} ,"completion_token_cost":${sent}}}`,
    );
    const answer = await query({
      query: equals('llm_id', model),
      fields: ['prompt_token_cost', 'completion_token_cost'],
    });
    expect(answer.text).toBe(
      `{"results":[{"prompt_token_cost":${answered},"completion_token_cost":${answered}}]}`,
    );
  });

  it('takes the last price where a name is there twice, as JSON readers do', async () => {
    await create(
      '{"dup":{"prompt_token_cost":1,"completion_token_cost":1,"prompt_token_cost":2.0}}',
    );
    const answer = await query({ query: equals('llm_id', 'dup'), fields: ['prompt_token_cost'] });
    expect(answer.text).toBe('{"results":[{"prompt_token_cost":2.0}]}');
  });

  it('orders by model, then the latest effective date, then id', async () => {
    const project = 'acme/order';
    for (const day of ['02', '03', '01', '02'])
      await create({ b: price({ effective_date: `2026-01-${day}` }) }, project);
    await create({ a: price() }, project);
    const { results } = (await query({ fields: ['llm_id', 'effective_date', 'id'] }, project)).body;
    expect(
      results.map((row: any) => row.llm_id + row.effective_date.slice(8, 10)).slice(1),
    ).toEqual(['b03', 'b02', 'b02', 'b01']);
    expect(results[0].llm_id).toBe('a');
    expect(results[2].id < results[3].id).toBe(true);
    const page = await query(
      { sort_by: [{ field: 'effective_date', direction: 'asc' }], limit: 1, offset: 1 },
      project,
    );
    expect(page.body.results[0].effective_date).toBe('2026-01-02T00:00:00.000000Z');
    expect((await query({ limit: 0, offset: 0 }, project)).text).toBe('{"results":[]}');
  });

  it('takes a literal as a true query, with fields and sort_by', async () => {
    const answer = await app.post('/cost/query', {
      project_id: PROJECT,
      fields: ['id', 'llm_id'],
      query: { $expr: { $and: [{ $literal: 'string' }] } },
      sort_by: [{ field: 'llm_id', direction: 'asc' }],
      limit: 0,
      offset: 0,
    });
    expect(answer).toMatchObject({ status: 200, text: '{"results":[]}' });
    const all = await query({
      query: { $expr: { $and: [{ $literal: 'string' }] } },
      fields: ['id'],
    });
    expect(all.body.results.length).toBeGreaterThan(5);
    expect(Object.keys(all.body.results[0])).toEqual(['id']);
  });

  it('answers the first ids again to an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'prices' };
    const first = await create({ once: price() }, PROJECT, { headers });
    const second = await create({ once: price() }, PROJECT, { headers });
    expect(second.body).toEqual(first.body);
    expect((await query({ query: equals('llm_id', 'once') })).body.results).toHaveLength(1);
  });

  it.each<[string, object | string, string]>([
    ['no models', {}, 'costs'],
    ['a list', [], 'costs'],
    [
      'too many models',
      Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [i, price()])),
      'costs',
    ],
    ['a price record that is none', { m: 5 }, 'costs.m'],
    ['a name of 257 characters', { ['m'.repeat(257)]: price() }, `costs.${'m'.repeat(64)}`],
    ['a name with a control character', { 'm\0': price() }, 'costs.m\0'],
    ['an empty name', { '': price() }, 'costs.'],
    ['no completion price', { m: { prompt_token_cost: 1 } }, 'costs.m.completion_token_cost'],
    ['a negative price', { m: price({ prompt_token_cost: -1e-9 }) }, 'costs.m.prompt_token_cost'],
    ['a price that is text', { m: price({ prompt_token_cost: '1' }) }, 'costs.m.prompt_token_cost'],
    [
      'an absurd price',
      { m: price({ completion_token_cost: 1_000_001 }) },
      'costs.m.completion_token_cost',
    ],
    [
      'an infinite price',
      '{"m":{"prompt_token_cost":1e999,"completion_token_cost":1}}',
      'costs.m.prompt_token_cost',
    ],
    [
      'a price of 41 digits',
      '{"m":{"prompt_token_cost":1e-41,"completion_token_cost":1}}',
      'costs.m.prompt_token_cost',
    ],
    [
      'a price of millions of digits',
      `{"m":{"prompt_token_cost":1,"completion_token_cost":0.${'0'.repeat(5_000_000)}}}`,
      'costs.m.completion_token_cost',
    ],
    [
      'a price of 101 characters',
      `{"m":{"prompt_token_cost":1,"completion_token_cost":${'0.5'.padEnd(101, '0')}}}`,
      'costs.m.completion_token_cost',
    ],
    [
      'a zero of 41 digits',
      '{"m":{"prompt_token_cost":0e-41,"completion_token_cost":1}}',
      'costs.m.prompt_token_cost',
    ],
    [
      'a negative cache price',
      { m: price({ cache_read_input_token_cost: -1 }) },
      'costs.m.cache_read_input_token_cost',
    ],
    ['a date that is none', { m: price({ effective_date: 'soon' }) }, 'costs.m.effective_date'],
    [
      'an empty unit',
      { m: price({ prompt_token_cost_unit: '' }) },
      'costs.m.prompt_token_cost_unit',
    ],
    ['a good and a bad record', { good: price(), bad: {} }, 'costs.bad.prompt_token_cost'],
  ])('refuses %s', async (_, costs, path) => {
    const project = 'acme/refused';
    expect(await create(costs, project)).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_request',
        errors: expect.arrayContaining([expect.objectContaining({ path })]),
      },
    });
    expect((await query({}, project)).body.results).toEqual([]);
  });

  it('refuses far too many models without looking at them', async () => {
    const costs = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`m${i}`, 5]));
    const answer = await create(costs);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([{ path: 'costs', message: 'must hold 1 to 1000 models' }]);
  });

  it.each([
    [{ fields: ['llm_id', 'project_id'] }, 'fields[1]'],
    [{ sort_by: [{ field: 'nothing', direction: 'asc' }] }, 'sort_by[0].field'],
    [{ query: { $expr: { $getField: 'nothing' } } }, 'query.$expr.$getField'],
    [{ query: { $expr: {} } }, 'query.$expr'],
    [{ limit: -1 }, 'limit'],
  ])('refuses the query %j', async (fields, path) => {
    expect(await query(fields)).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });
});

describe('/cost/purge', () => {
  it('deletes what the query holds for', async () => {
    const project = 'acme/purge';
    const { body } = await create({ a: price(), b: price(), c: price() }, project);
    const doomed = {
      $expr: { $or: [body.ids[0][0], body.ids[2][0]].map((id) => equals('id', id).$expr) },
    };
    expect(await app.post('/cost/purge', { project_id: project, query: doomed })).toMatchObject({
      status: 200,
      text: '{}',
    });
    expect((await query({ fields: ['llm_id'] }, project)).body.results).toEqual([{ llm_id: 'b' }]);
  });

  it.each([[{}], [{ query: null }], [{ query: {} }]])('refuses %j', async (fields) => {
    expect((await app.post('/cost/purge', { project_id: PROJECT, ...fields })).status).toBe(400);
  });
});
