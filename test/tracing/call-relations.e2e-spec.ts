import * as fc from 'fast-check';
import { startApp, type TestApp } from '../support/app.js';
import { aStart, anEnd, at } from '../support/factories.js';

const FEW = 'acme/few';
/** Has the same calls, and so many others that the ids of related calls are too many for a list. */
const MANY = 'acme/many';
const OTHERS = 2100;

interface StoredCall {
  id: string;
  trace: string;
  parent: string | null;
  op: string;
  isError: boolean;
  isLlm: boolean;
  n: number;
  second: number;
  isDeleted?: boolean;
}

/** Six traces of trees. Some calls have no stored parent, or one of another trace, or are each other's parents. */
const CALLS: StoredCall[] = fc
  .sample(fc.tuple(fc.nat(5), fc.nat(9), fc.nat(2), fc.nat(3), fc.nat(2), fc.nat(4), fc.nat(30)), {
    numRuns: 60,
    seed: 5,
  })
  .map(([trace, parent, op, error, llm, n, second], i) => ({
    id: `c${i}`,
    trace: `t${trace}`,
    parent:
      parent === 9 || i === 0
        ? null
        : parent === 8
          ? 'missing'
          : `c${(i * (parent + 1)) % (i + 1)}`,
    op: 'abc'[op]!,
    isError: error === 0,
    isLlm: llm === 0,
    n,
    second,
    isDeleted: i % 17 === 16,
  }));

const VISIBLE = CALLS.filter(({ isDeleted }) => !isDeleted);
const parentOf = (call: StoredCall) =>
  VISIBLE.find(({ id, trace }) => id === call.parent && trace === call.trace);
const traceOf = ({ trace }: StoredCall) => VISIBLE.filter((other) => other.trace === trace);
const childrenOf = (call: StoredCall) => VISIBLE.filter((other) => parentOf(other)?.id === call.id);
function above(call: StoredCall): StoredCall[] {
  const found: StoredCall[] = [];
  for (let up = parentOf(call); up && !found.includes(up); up = parentOf(up)) found.push(up);
  return found;
}
const firstLlm = (call: StoredCall) =>
  traceOf(call)
    .filter(({ isLlm }) => isLlm)
    .toSorted((a, b) => a.second - b.second || (a.id < b.id ? -1 : 1))[0];

type Rule = { json: object; holds: (call: StoredCall) => boolean };

const field = (name: string) => ({ $getField: name });
const literal = (value: unknown) => ({ $literal: value });
const atom: fc.Arbitrary<Rule> = fc.oneof(
  fc.constantFrom('a', 'b', 'c').map((op) => ({
    json: { $eq: [field('op_name'), literal(op)] },
    holds: (call: StoredCall) => call.op === op,
  })),
  fc.constant({
    json: { $eq: [field('summary.svc.status'), literal('error')] },
    holds: ({ isError }: StoredCall) => isError,
  }),
  fc.nat(4).map((n) => ({
    json: { $gt: [field('inputs.n'), literal(n)] },
    holds: (call: StoredCall) => call.n > n,
  })),
);
const related = (inner: fc.Arbitrary<Rule>): fc.Arbitrary<Rule> =>
  fc.oneof(
    inner.map(({ json, holds }) => ({
      json: { $any: json },
      holds: (call: StoredCall) => traceOf(call).some(holds),
    })),
    inner.map(({ json, holds }) => ({
      json: { $parent: json },
      holds: (call: StoredCall) => [parentOf(call)].some((one) => one !== undefined && holds(one)),
    })),
    inner.map(({ json, holds }) => ({
      json: { $ancestor: json },
      holds: (call: StoredCall) => above(call).some(holds),
    })),
    inner.map(({ json, holds }) => ({
      json: { $first_llm: json },
      holds: (call: StoredCall) => [firstLlm(call)].some((one) => one !== undefined && holds(one)),
    })),
    fc.tuple(inner, fc.boolean(), fc.nat(2)).map(([{ json, holds }, isAll, least]) => ({
      json: { $gte: [{ $child_count: isAll ? {} : json }, literal(least)] },
      holds: (call: StoredCall) =>
        childrenOf(call).filter((child) => isAll || holds(child)).length >= least,
    })),
  );
const joined = (part: fc.Arbitrary<Rule>): fc.Arbitrary<Rule> =>
  fc.oneof(
    part,
    part.map(({ json, holds }) => ({
      json: { $not: [json] },
      holds: (call: StoredCall) => !holds(call),
    })),
    fc.tuple(part, part).map(([a, b]) => ({
      json: { $and: [a.json, b.json] },
      holds: (call: StoredCall) => a.holds(call) && b.holds(call),
    })),
    fc.tuple(part, part).map(([a, b]) => ({
      json: { $or: [a.json, b.json] },
      holds: (call: StoredCall) => a.holds(call) || b.holds(call),
    })),
  );
const rules = joined(fc.oneof(related(atom), related(joined(fc.oneof(atom, related(atom)))), atom));

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
  const batch = (project_id: string) =>
    CALLS.flatMap(({ id, trace, parent, op, isError, isLlm, n, second }) => {
      const start = aStart({
        project_id,
        id,
        trace_id: trace,
        parent_id: parent,
        op_name: op,
        started_at: at(second),
        inputs: { n },
        attributes: {},
      });
      const end = anEnd({
        project_id,
        id,
        ended_at: at(second + 1),
        exception: isError ? 'it failed' : null,
        output: null,
        summary: isLlm ? { usage: { m: { requests: 1, prompt_tokens: 1 } } } : {},
      });
      return [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end } },
      ];
    });
  const call_ids = CALLS.flatMap(({ id, isDeleted }) => (isDeleted ? [id] : []));
  for (const project_id of [FEW, MANY]) {
    expect((await app.post('/call/upsert_batch', { batch: batch(project_id) })).status).toBe(200);
    await app.query(`UPDATE calls SET deleted_at = now() WHERE project_id = $1 AND id = ANY($2)`, [
      project_id,
      call_ids,
    ]);
  }
  await app.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, ended_at, exception, attributes, inputs, usage, has_unread_usage)
     SELECT $1, 'o' || n, substr('abc', n % 3 + 1, 1), 'other' || n, timestamptz '2025-01-01' + n * interval '1 s', '2026-01-01',
       'failed', '{}', '{"n":9}', '[{"llm_id":"m"}]', false FROM generate_series(1, $2::int) n`,
    [MANY, OTHERS * 3],
  );
});
afterAll(() => app.close());

const idsOf = ({ text }: { text: string }) =>
  text
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).id as string);

it('finds the calls that a reader of all trees finds, with few and with many related calls', async () => {
  await fc.assert(
    fc.asyncProperty(rules, async ({ json, holds }) => {
      const wanted = VISIBLE.filter(holds)
        .map(({ id }) => id)
        .toSorted();
      const query = { $expr: json };
      const few = await app.post('/calls/stream_query', { project_id: FEW, query });
      expect([few.status, idsOf(few).toSorted()]).toEqual([200, wanted]);
      const trace_ids = [...new Set(CALLS.map(({ trace }) => trace))];
      const many = { project_id: MANY, query, filter: { trace_ids } };
      expect(idsOf(await app.post('/calls/stream_query', many)).toSorted()).toEqual(wanted);
      const counted = await app.post('/calls/query_stats', many);
      expect(counted.body.count).toBe(wanted.length);
    }),
    { numRuns: 60 },
  );
});

it('counts costs of related calls', async () => {
  const price = { prompt_token_cost: 0.5, completion_token_cost: 0.5, effective_date: at(-1) };
  await app.post('/cost/create', { project_id: FEW, costs: { m: price } });
  const dear = { $gt: [field('summary.svc.total_cost'), literal(0.4)] };
  const found = await app.post('/calls/stream_query', {
    project_id: FEW,
    query: { $expr: { $any: dear } },
  });
  const wanted = VISIBLE.filter((call) => traceOf(call).some(({ isLlm }) => isLlm));
  expect(idsOf(found).toSorted()).toEqual(wanted.map(({ id }) => id).toSorted());
});

const isA = { $eq: [field('op_name'), literal('a')] };

it.each([
  [{ $any: { $any: { $any: isA } } }, 'query.$expr.$any.$any.$any', 'inside 2 other relations'],
  [
    { $and: Array.from({ length: 9 }, () => ({ $parent: isA })) },
    'query.$expr.$and[8].$parent',
    '8 relations',
  ],
  [{ $any: [isA] }, 'query.$expr.$any', 'exactly one operator'],
  [{ $parent: null }, 'query.$expr.$parent', 'exactly one operator'],
  [
    { $gt: [{ $child_count: 1 }, literal(1)] },
    'query.$expr.$gt[0].$child_count',
    'exactly one operator',
  ],
])('refuses %j', async ($expr, place, problem) => {
  const { status, text } = await app.post('/calls/stream_query', {
    project_id: FEW,
    query: { $expr },
  });
  expect(status).toBe(400);
  expect(text).toContain(place);
  expect(text).toContain(problem);
});

it('does not purge by other calls, which the purge itself changes', async () => {
  const { status, text } = await app.post('/calls/purge', {
    project_id: FEW,
    query: { $expr: { $any: isA } },
  });
  expect([status, text]).toEqual([400, expect.stringContaining('$any')]);
});

it('counts and lists the calls of a trace of 33,000 by what 3,000 of them fulfil', async () => {
  const impatient = await startApp({ READ_TIMEOUT_SECONDS: '5' });
  try {
    const project_id = 'acme/large';
    await impatient.query(
      `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, attributes, inputs)
       SELECT $1, 'c' || n, CASE WHEN n > 30000 THEN 'a' ELSE 'b' END, 't', timestamptz '2026-01-01' + n * interval '1 s', '{}', '{}'
       FROM generate_series(1, 33000) n`,
      [project_id],
    );
    for (const relation of ['$any', '$first_llm'])
      expect(
        await impatient.post('/calls/query_stats', {
          project_id,
          query: { $expr: { [relation]: isA } },
        }),
      ).toMatchObject({ status: 200, body: { count: relation === '$any' ? 33_000 : 0 } });
    const page = { project_id, query: { $expr: { $not: [{ $any: isA }] } } };
    expect(idsOf(await impatient.post('/calls/stream_query', page))).toEqual([]);
  } finally {
    await impatient.close();
  }
});
