import { Decimal } from '../../src/platform/json/decimal.js';
import { linesOf, useApp } from '../support/app.js';

const PROJECT = 'acme/cost-field';
const FIELD = 'summary.svc.total_cost';

const app = useApp();

const MODELS = [
  'gpt-4o', // built-in price, later a price of the project
  'o3', // its price changes on one day
  'gemini-2.5-pro', // price tiers
  'deepseek/deepseek-v4-pro', // price changes on one day and by time of day
  'claude-sonnet-4-5',
  'own',
  'euro',
  'two units',
  'mystery',
  'gpt-4o\0', // stored with another name
  `gpt-4o${'x'.repeat(300)}`, // too long to have a price
];
const DAYS = ['2025-05-01', '2025-12-31', '2026-01-10', '2026-08-16', '2026-08-20'];
const TIMES = ['00:59:59.999999Z', '01:00:00Z', '12:00:00.000001Z', '16:30:00Z'];

/** A generator with a fixed seed, so that each run has the same numbers. */
let seed = 7;
const random = (below: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
};
const oneOf = <T>(list: readonly T[]): T => list[random(list.length)]!;

function anEntry(): object {
  const prompt = oneOf([0, 1, 7, 1234, 200_000, 200_001, 400_000]);
  const entries = [
    { prompt_tokens: prompt, completion_tokens: random(500) },
    {
      prompt_tokens: prompt,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: Math.floor(prompt / 3) },
    },
    {
      input_tokens: prompt,
      output_tokens: random(50),
      cache_read_input_tokens: random(300_000),
      cache_creation_input_tokens: random(3) * 11,
    },
    { prompt_tokens: 'many', completion_tokens: 5 },
    { prompt_tokens: 0, completion_tokens: 0 },
    { requests: 1 },
  ];
  return random(2) === 0 ? entries[random(3)]! : oneOf(entries);
}

function aUsage(): object | undefined {
  if (random(10) === 0) return undefined;
  return Object.fromEntries(
    Array.from({ length: oneOf([1, 1, 1, 2, 4]) }, () => [oneOf(MODELS), anEntry()]),
  );
}

const price = (prompt: number, effective_date: string, more: object = {}) => ({
  prompt_token_cost: prompt,
  completion_token_cost: 0.00001,
  effective_date,
  ...more,
});

const field = { $getField: FIELD };
/** A number with any digits, sent as text. */
const number = (digits: string) => ({ $convert: { input: { $literal: digits }, to: 'double' } });
const ask = (body: object) => app.post('/calls/stream_query', { project_id: PROJECT, ...body });
const idsOf = async (body: object): Promise<string[]> => {
  const answer = await ask(body);
  expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.anything()]);
  return linesOf(answer).map(({ id }) => id);
};

interface Priced {
  id: string;
  /** Multiplied by 10^40, so that integers are compared. */
  cost: bigint | null;
  digits: string | null;
  started_at: string;
}

const TOTALS =
  /"prompt_token_cost_unit":(null|"[^"]*"),"completion_token_cost_unit":(?:null|"[^"]*"),[^{}]*?"total_cost":([^,}]+)/g;

/** Reads the cost of a call from its line. */
function priced(line: string): Priced {
  const { id, started_at } = JSON.parse(line);
  const known = [...line.matchAll(TOTALS)].filter(([, , total]) => total !== 'null');
  const units = new Set(known.map(([, unit]) => unit));
  if (units.size !== 1) return { id, started_at, cost: null, digits: null };
  const sum = known.reduce((sum, [, , total]) => sum.plus(Decimal.parse(total!)), Decimal.zero);
  return { id, started_at, digits: sum.toString(), cost: BigInt(sum.shifted(-40).toString()) };
}

/** All calls, as returned with their costs. */
let calls: Priced[];

beforeAll(async () => {
  const costs = [
    { 'gpt-4o': price(1e-7, '2026-01-10T12:00:00.000001Z') },
    {
      own: price(0.1, '2025-12-31T00:00:00Z', {
        cache_read_input_token_cost: 0.01234567890123,
      }),
    },
    { o3: price(0.5, '2026-08-01', { completion_token_cost_unit: 'EUR' }) },
    { own: price(0.2, '2026-01-10T01:00:00Z') },
    { own: price(0.3, '2026-01-10T01:00:00Z') },
    {
      euro: price(0.5, '2025-01-01', {
        prompt_token_cost_unit: 'EUR',
        completion_token_cost_unit: 'EUR',
      }),
    },
    { 'two units': price(0.5, '2025-01-01', { prompt_token_cost_unit: 'EUR' }) },
  ];
  for (const one of costs) await app.post('/cost/create', { project_id: PROJECT, costs: one });
  await app.post('/cost/create', {
    project_id: 'acme/other',
    costs: { mystery: price(1, '2020-01-01') },
  });
  const batch = Array.from({ length: 400 }, (_, n) => {
    const id = `c${String(n).padStart(3, '0')}`;
    const started_at = `${oneOf(DAYS)}T${oneOf(TIMES)}`;
    const usage = aUsage();
    const attributes =
      n % 3 === 0 ? { weave: { source: 'python-sdk', client_version: '0.53.2' } } : {};
    const start = {
      project_id: PROJECT,
      id,
      op_name: `op-${n % 4}`,
      started_at,
      attributes,
      inputs: { n },
    };
    const end = {
      project_id: PROJECT,
      id,
      ended_at: started_at,
      ...(usage && { summary: { usage } }),
    };
    return [
      { mode: 'start', req: { start } },
      ...(n % 29 === 0 ? [] : [{ mode: 'end', req: { end } }]),
    ];
  }).flat();
  expect((await app.post('/call/upsert_batch', { batch })).status).toBe(200);
  await app.post('/calls/delete', { project_id: PROJECT, call_ids: ['c005', 'c006', 'c007'] });
  const answer = await ask({ include_costs: true, columns: ['id', 'summary'] });
  calls = answer.text.split('\n').filter(Boolean).map(priced);
  expect(calls).toHaveLength(397);
  const known = new Set(calls.map(({ digits }) => digits));
  expect(known.size).toBeGreaterThan(150);
});

const byStart = (a: Priced, b: Priced) =>
  a.started_at === b.started_at
    ? Number(a.id > b.id) - 0.5
    : Number(a.started_at > b.started_at) - 0.5;
const where = (holds: (cost: bigint) => boolean) =>
  calls
    .filter(({ cost }) => cost !== null && holds(cost))
    .toSorted(byStart)
    .map(({ id }) => id);

describe('summary.svc.total_cost', () => {
  it('compares exactly what calls are answered to cost', async () => {
    const values = calls.filter(({ cost }) => cost !== null);
    const middle = values.toSorted((a, b) => Number(a.cost! > b.cost!) - 0.5);
    const bounds = [0, 0.2, 0.4, 0.6, 0.8].map((part) => middle[Math.floor(part * values.length)]!);
    const operators: [string, (cost: bigint, bound: bigint) => boolean][] = [
      ['$eq', (cost, bound) => cost === bound],
      ['$ne', (cost, bound) => cost !== bound],
      ['$gt', (cost, bound) => cost > bound],
      ['$gte', (cost, bound) => cost >= bound],
      ['$lt', (cost, bound) => cost < bound],
      ['$lte', (cost, bound) => cost <= bound],
    ];
    for (const { cost: bound, digits } of bounds)
      for (const [operator, holds] of operators) {
        const query = { $expr: { [operator]: [field, number(digits!)] } };
        const expected = where((cost) => holds(cost, bound!));
        expect([operator, digits, await idsOf({ query })]).toEqual([operator, digits, expected]);
        const counted = await app.post('/calls/query_stats', { project_id: PROJECT, query });
        expect(counted.body.count).toBe(expected.length);
      }
    const query = { $expr: { $in: [field, bounds.map(({ digits }) => number(digits!))] } };
    expect(await idsOf({ query })).toEqual(
      where((cost) => bounds.some((one) => one.cost === cost)),
    );
  });

  it('is null of a call that tells no cost, or several units of it', async () => {
    const none = calls.filter(({ cost }) => cost === null).toSorted(byStart);
    expect(none.length).toBeGreaterThan(30);
    const isNone = { $eq: [field, { $literal: null }] };
    expect(await idsOf({ query: { $expr: isNone } })).toEqual(none.map(({ id }) => id));
    const exists = { $convert: { input: field, to: 'exists' } };
    expect(await idsOf({ query: { $expr: exists } })).toEqual(where(() => true));
    const isCheap = { $not: [{ $gt: [field, { $literal: 1 }] }] };
    expect(await idsOf({ query: { $expr: isCheap } })).toEqual(where((cost) => cost <= 10n ** 40n));
    const either = { $or: [isCheap, isNone] };
    const counted = await app.post('/calls/query_stats', {
      project_id: PROJECT,
      query: { $expr: either },
    });
    expect(counted.body.count).toBe(where((cost) => cost <= 10n ** 40n).length + none.length);
  });

  it.each(['asc', 'desc'] as const)(
    'sorts %s, and continues behind a sum of doubles',
    async (direction) => {
      const sign = direction === 'asc' ? 1 : -1;
      const expected = calls.toSorted((a, b) => {
        if (a.cost === b.cost) return a.id < b.id ? -1 : 1;
        if (a.cost === null || b.cost === null) return a.cost === null ? 1 : -1;
        return a.cost < b.cost ? -sign : sign;
      });
      const sort_by = [{ field: FIELD, direction }];
      expect(await idsOf({ sort_by })).toEqual(expected.map(({ id }) => id));
      expect(await idsOf({ sort_by, limit: 10, offset: 20 })).toEqual(
        expected.slice(20, 30).map(({ id }) => id),
      );
      const paged: string[] = [];
      for (let after: unknown[] | undefined; ;) {
        const page = linesOf(
          await ask({ sort_by, limit: 17, include_costs: true, ...(after && { after }) }),
        );
        paged.push(...page.map(({ id }) => id));
        if (page.length < 17) break;
        const { id, summary } = page.at(-1);
        const isKnown = calls.find((call) => call.id === id)!.cost !== null;
        const totals = Object.values<any>(summary.svc.costs).map(({ total_cost }) => total_cost);
        after = [isKnown ? totals.reduce((sum, total) => sum + (total ?? 0), 0) : null, id];
      }
      expect(paged).toEqual(expected.map(({ id }) => id));
    },
  );

  it('is spelled as in either dialect, and stands beside other conditions', async () => {
    const isDear = (name: string) => ({ $gt: [{ $getField: name }, { $literal: 0.01 }] });
    const dear = where((cost) => cost > 10n ** 38n);
    expect(await idsOf({ query: { $expr: isDear('summary.weave.total_cost') } })).toEqual(dear);
    expect(await idsOf({ query: { $expr: isDear('summary.[svc].[total_cost]') } })).toEqual(dear);
    const started = { $gte: [{ $getField: 'started_at' }, { $literal: '2026-01-01T00:00:00Z' }] };
    const op = { $eq: [{ $getField: 'op_name' }, { $literal: 'op-1' }] };
    const inside = { $gte: [{ $getField: 'inputs.n' }, { $literal: 100 }] };
    const late = (id: string) => calls.find((call) => call.id === id)!.started_at >= '2026';
    const isOp = (id: string) => Number(id.slice(1)) % 4 === 1;
    const all = { $and: [started, isDear(FIELD), op] };
    expect(await idsOf({ query: { $expr: all }, limit: 1000 })).toEqual(
      dear.filter((id) => late(id) && isOp(id)),
    );
    const searched = { $and: [inside, isDear(FIELD)] };
    expect(await idsOf({ query: { $expr: searched } })).toEqual(
      dear.filter((id) => Number(id.slice(1)) >= 100),
    );
    const filter = { op_names: ['op-1'] };
    expect(await idsOf({ filter, query: { $expr: isDear(FIELD) } })).toEqual(dear.filter(isOp));
  });

  it('chooses calls for statistics, usage and datasets', async () => {
    const query = { $expr: { $gt: [field, { $literal: 0.01 }] } };
    const dear = where((cost) => cost > 10n ** 38n);
    const window = {
      start: '2025-01-01T00:00:00Z',
      end: '2027-01-01T00:00:00Z',
      granularity: 31_536_000,
    };
    const stats = await app.post('/calls/stats', {
      ...{ project_id: PROJECT, query, ...window },
      call_metrics: [{ metric: 'call_count', aggregations: ['sum'] }],
    });
    const count = stats.body.call_buckets.reduce(
      (sum: number, one: any) => sum + one.sum_call_count,
      0,
    );
    expect(count).toBe(dear.length);
    const usage = await app.post('/trace/usage', { project_id: PROJECT, query });
    expect(Object.keys(usage.body.call_usage).toSorted()).toEqual(dear.toSorted());
    const added = await app.post('/datasets/add_from_calls', {
      ...{ project_id: PROJECT, object_id: 'dear', query, columns: { n: 'inputs.n' } },
    });
    expect([added.status, added.body.added]).toEqual([200, dear.length]);
  });

  it.each([
    ['/calls/purge', 'query.$expr.$gt[0].$getField'],
    ['/calls/purge', 'query.$expr.$and[1].$gt[0].$getField'],
  ])('is refused by %s, which reads the calls again later', async (path, place) => {
    const isDear = { $gt: [field, { $literal: 1 }] };
    const $expr = place.includes('$and')
      ? { $and: [{ $eq: [{ $getField: 'op_name' }, { $literal: 'op-1' }] }, isDear] }
      : isDear;
    const answer = await app.post(path, { project_id: PROJECT, query: { $expr } });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(place);
    expect(answer.text).toContain(FIELD);
  });

  it('is refused where a request names it over ten times, since each time prices all calls', async () => {
    const ask = (times: number) => {
      const $or = Array.from({ length: times }, () => ({ $gt: [field, { $literal: 1 }] }));
      return app.post('/calls/query_stats', { project_id: PROJECT, query: { $expr: { $or } } });
    };
    expect((await ask(10)).status).toBe(200);
    const refused = await ask(11);
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      `query must not name ${FIELD} more than 10 times`,
    ]);
  });

  it('is refused where the calls used too many models, unless other conditions leave fewer', async () => {
    const project_id = 'acme/many-models';
    const names = (n: number) =>
      Array.from({ length: 600 }, (_, i) => [`m${n}-${i}`, { prompt_tokens: 1 }]);
    for (const n of [0, 1]) {
      const started_at = `2026-01-0${n + 1}T00:00:00Z`;
      await app.post('/call/start', {
        start: { project_id, id: `c${n}`, op_name: 'op', started_at },
      });
      const summary = { usage: Object.fromEntries(names(n)) };
      await app.post('/call/end', {
        end: { project_id, id: `c${n}`, ended_at: started_at, summary },
      });
    }
    await app.post('/cost/create', { project_id, costs: { 'm0-7': price(2, '2025-01-01') } });
    const isDear = { $gt: [field, { $literal: 1 }] };
    const refused = await app.post('/calls/query', { project_id, query: { $expr: isDear } });
    expect([refused.status, refused.text]).toEqual([413, expect.stringContaining(FIELD)]);
    const first = { $lt: [{ $getField: 'started_at' }, { $literal: '2026-01-02T00:00:00Z' }] };
    const found = await app.post('/calls/query', {
      project_id,
      query: { $expr: { $and: [first, isDear] } },
    });
    expect(found.body.calls.map(({ id }: { id: string }) => id)).toEqual(['c0']);
  });
});
