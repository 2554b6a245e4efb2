import { linesOf, useApp } from '../support/app.js';
import { ran } from '../support/background.js';

const app = useApp();

let projects = 0;
let project_id = '';
beforeEach(() => {
  project_id = `acme/sources-${++projects}`;
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 5, 12, 0, second)).toISOString();
interface Start {
  id: string;
  parent?: string | null;
  op?: string;
  attributes?: object;
  trace?: string;
}
const body = ({ id, parent = null, op = 'work', attributes = {}, trace = 't' }: Start) => ({
  project_id,
  id,
  trace_id: trace,
  parent_id: parent,
  op_name: op,
  started_at: at(id.charCodeAt(0) % 60),
  attributes,
});
const start = async (call: Start) => {
  const answer = await app.post('/call/start', { start: body(call) });
  expect(answer.status).toBe(200);
};
const startAll = async (calls: Start[]) => {
  const batch = calls.map((call) => ({ mode: 'start', req: { start: body(call) } }));
  expect((await app.post('/call/upsert_batch', { batch })).status).toBe(200);
};
const list = async (request: object): Promise<any[]> => {
  const answer = await app.post('/calls/stream_query', { project_id, ...request });
  expect(answer.status).toBe(200);
  return linesOf(answer);
};
/** Reads the sources of all calls of the project, keyed by call id. */
const sources = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await list({ columns: ['source'] })).map(({ id, source }) => [id, source]));
const idsOf = async (request: object) => (await list(request)).map(({ id }) => id).toSorted();

const ref = (name: string) => `weave:///acme/lab/op/${name}:v1`;
/** An evaluation with three levels of calls below it, and two production calls. */
const EVALUATION: Start[] = [
  { id: 'e', op: ref('Evaluation.evaluate') },
  { id: 'm', parent: 'e', op: ref('Model.predict') },
  { id: 'n', parent: 'm', op: 'chat' },
  { id: 'o', parent: 'n', op: 'tool' },
  { id: 'r', op: 'serve', trace: 'u' },
  { id: 's', parent: 'r', op: 'chat', trace: 'u' },
];
const EXPECTED = {
  e: 'evaluation',
  m: 'evaluation',
  n: 'evaluation',
  o: 'evaluation',
  r: 'production',
  s: 'production',
};

/** All permutations of a list. */
const orders = <T>(items: T[]): T[][] =>
  items.length < 2
    ? [items]
    : items.flatMap((item, i) => orders(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));

describe('calls below an evaluation', () => {
  it('are of it, in whichever order they come', async () => {
    for (const [i, order] of orders(EVALUATION.slice(0, 4)).entries()) {
      project_id = `acme/sources-of-order-${i}`;
      for (const call of order) await start(call);
      expect(await sources()).toEqual({
        e: 'evaluation',
        m: 'evaluation',
        n: 'evaluation',
        o: 'evaluation',
      });
    }
  });

  it.each([
    ['in one batch', [[0, 1, 2, 3, 4, 5]]],
    ['in one batch, the last first', [[5, 4, 3, 2, 1, 0]]],
    [
      'in two batches, the upper one last',
      [
        [2, 3, 5],
        [0, 1, 4],
      ],
    ],
    [
      'in three batches, out of order',
      [
        [3, 4],
        [1, 5],
        [2, 0],
      ],
    ],
  ])('are of it when they come %s', async (_, batches) => {
    for (const batch of batches) await startAll(batch.map((i) => EVALUATION[i]!));
    expect(await sources()).toEqual(EXPECTED);
    await startAll(EVALUATION); // sent again
    expect(await sources()).toEqual(EXPECTED);
  });

  it('are of it when all come at the same time', async () => {
    for (let round = 0; round < 10; round++) {
      project_id = `acme/sources-at-once-${round}`;
      const shuffled = EVALUATION.toSorted(
        (a, b) => Math.sin(a.id.charCodeAt(0) * round) - Math.sin(b.id.charCodeAt(0) * round),
      );
      await Promise.all(shuffled.map(start));
      expect(await sources()).toEqual(EXPECTED);
    }
  });

  it('are of it when their ends come first, and whole calls later', async () => {
    const end = (id: string) => ({ project_id, id, ended_at: at(59), output: 1, summary: {} });
    await app.post('/call/end', { end: end('e') });
    await start({ id: 'm', parent: 'e' });
    expect(await sources()).toEqual({ m: 'production' }); // the evaluation has no start yet
    const calls = [body(EVALUATION[0]!), body({ id: 'm', parent: 'e' })];
    const batch = calls.map((call) => ({ ...call, ...end(call.id) }));
    const answer = await app.post(`/v2/${project_id}/calls/complete`, { batch });
    expect(answer.status).toBe(200);
    expect(await sources()).toEqual({ e: 'evaluation', m: 'evaluation' });
  });

  it('leave it when they move, and come back', async () => {
    await startAll(EVALUATION);
    await start({ id: 'n', parent: 's', trace: 'u' });
    expect(await sources()).toEqual({ ...EXPECTED, n: 'production', o: 'production' });
    await start({ id: 'n', parent: 'm' });
    expect(await sources()).toEqual(EXPECTED);
    await start({ id: 'e', op: 'no evaluation' });
    expect(new Set(Object.values(await sources()))).toEqual(new Set(['production']));
  });

  it('stay of it when what is above them goes', async () => {
    await startAll(EVALUATION);
    await app.post('/calls/purge', { project_id, filter: { call_ids: ['e', 'n'] } });
    await startAll(EVALUATION.slice(3)); // sent again
    expect(await sources()).toEqual({
      m: 'evaluation',
      o: 'evaluation',
      r: 'production',
      s: 'production',
    });
    await app.post('/calls/delete', { project_id, call_ids: ['m'] });
    await start({ id: 'q', parent: 'm' });
    expect(await sources()).toMatchObject({ q: 'evaluation', r: 'production' });
  });

  it('may go round in a circle', async () => {
    await startAll([
      { id: 'a', parent: 'b' },
      { id: 'b', parent: 'a' },
      { id: 'c', parent: 'c' },
    ]);
    await start({ id: 'a', parent: 'e' });
    await start(EVALUATION[0]!);
    expect(await sources()).toMatchObject({ a: 'evaluation', b: 'evaluation', c: 'production' });
    await start({ id: 'a', parent: 'b' });
    expect(Object.keys(await sources())).toHaveLength(4);
  });

  it('are found one by one however many they are', async () => {
    const calls = Array.from({ length: 6000 }, (__, i) => ({ id: `x${i}`, parent: 'e' }));
    await startAll([...calls, { id: 'y', parent: 'x5999' }]);
    await start(EVALUATION[0]!);
    const count = async (filter: object) =>
      (await app.post('/calls/query_stats', { project_id, filter })).body.count;
    expect(await count({ sources: ['evaluation'] })).toBe(6002);
    expect(await count({ sources: ['production'] })).toBe(0);
  });
});

describe('what says that a call is of an evaluation', () => {
  it.each([
    ['predict_and_score of Python', { op: ref('Evaluation.predict_and_score') }],
    ['predictAndScore of npm', { op: ref('Evaluation.predictAndScore') }],
    ['summarize, by its name', { op: 'Evaluation.summarize' }],
    ['a mark of weave', { attributes: { _weave_eval_meta: { imperative: true } } }],
    ['a typed run', { attributes: { weave: { evaluation_run: 'true' } } }],
    ['the id of a run', { attributes: { 'weave.eval.run_id': 'x' } }],
    ['an experiment of Langfuse', { attributes: { 'langfuse.experiment.id': 'x' } }],
    ['an environment of Langfuse', { attributes: { environment: 'sdk-experiment' } }],
    ['an experiment of pydantic-evals', { attributes: { 'gen_ai.operation.name': 'experiment' } }],
    ['an example of LangSmith', { attributes: { 'langsmith.reference_example_id': 'x' } }],
    ['a judge by itself', { attributes: { 'openinference.span.kind': 'EVALUATOR' } }],
    ['an attribute of ours', { attributes: { skein: { source: 'evaluation' } } }],
  ])('is %s', async (_, call) => {
    await startAll([
      { id: 'a', parent: 'b' },
      { id: 'b', ...call },
    ]);
    expect(await sources()).toEqual({ a: 'evaluation', b: 'evaluation' });
  });

  it.each([
    ['an op of a longer name', { op: ref('CreditEvaluation.evaluate') }],
    ['another op of an evaluation', { op: 'Evaluation.evaluate_credit' }],
    ['attributes of the client', { attributes: { weave: { source: 'python-sdk' } } }],
    ['an environment', { attributes: { environment: 'staging', 'langfuse.environment': 'x' } }],
    [
      'a judge within a request',
      { parent: 'z', attributes: { 'openinference.span.kind': 'EVALUATOR' } },
    ],
    ['a source that is none', { attributes: { skein: { source: 'test' }, 'skein.source': 1 } }],
    ['a member of that name', { attributes: { source: 'playground', evaluation: true } }],
  ])('is not %s', async (_, call) => {
    await start({ id: 'a', ...call });
    expect(await sources()).toEqual({ a: 'production' });
  });
});

describe('a source that a call says itself', () => {
  it('wins over what it looks like and what is above it, and is that of the calls below', async () => {
    const says = (source: string) => ({ attributes: { 'skein.source': source } });
    await startAll([
      { id: 'd', parent: 'c' },
      { id: 'c', parent: 'b', ...says('production') },
      { id: 'b', parent: 'a' },
      { id: 'f', parent: 'd', ...says('playground') },
      { id: 'g', parent: 'f', op: ref('Evaluation.evaluate'), ...says('nonsense') },
    ]);
    await start({ id: 'a', op: ref('Evaluation.evaluate') });
    expect(await sources()).toEqual({
      a: 'evaluation',
      b: 'evaluation',
      c: 'production',
      d: 'production',
      f: 'playground',
      g: 'evaluation',
    });
    await start({ id: 'c', parent: 'b' });
    expect(await sources()).toMatchObject({ c: 'evaluation', d: 'evaluation', f: 'playground' });
  });
});

describe('sources of calls', () => {
  it('are answered, and restrict lists and counts', async () => {
    await startAll(EVALUATION);
    expect(await idsOf({ filter: { sources: ['production'] } })).toEqual(['r', 's']);
    expect(await idsOf({ filter: { sources: ['evaluation'], trace_roots_only: true } })).toEqual([
      'e',
    ]);
    expect(await idsOf({ filter: { sources: [] } })).toHaveLength(6);
    expect(await idsOf({})).toHaveLength(6);
    const query = { $expr: { $eq: [{ $getField: 'source' }, { $literal: 'production' }] } };
    expect(await idsOf({ query })).toEqual(['r', 's']);
    const sorted = await list({
      columns: ['source'],
      sort_by: [{ field: 'source', direction: 'desc' }],
    });
    expect(sorted.map(({ source }) => source[0]).join('')).toBe('ppeeee');
  });

  it('are refused where they are none', async () => {
    for (const filter of [{ sources: ['test'] }, { sources: 'production' }]) {
      const answer = await app.post('/calls/stream_query', { project_id, filter });
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('filter.sources');
    }
  });
});

describe('statistics', () => {
  const stats = async (filter?: object, more: object = {}) => {
    const answer = await app.post('/calls/stats', {
      project_id,
      start: at(0),
      end: '2026-01-05T12:05:00Z',
      granularity: 300,
      call_metrics: [{ metric: 'call_count' }, { metric: 'error_count' }],
      usage_metrics: [{ metric: 'total_tokens' }],
      ...(filter && { filter }),
      ...more,
    });
    expect(answer.status).toBe(200);
    const { call_buckets: calls, usage_buckets: usage } = answer.body;
    const sum = (buckets: any[], name: string) =>
      buckets.reduce((total, bucket) => total + Number(bucket[name] ?? 0), 0);
    return [
      sum(calls, 'sum_call_count'),
      sum(calls, 'sum_error_count'),
      sum(usage, 'sum_total_tokens'),
    ];
  };
  const summary = (tokens: number) => ({
    usage: { m: { requests: 1, prompt_tokens: tokens, completion_tokens: 0 } },
  });
  const end = (id: string, tokens: number) => ({
    mode: 'end',
    req: { end: { project_id, id, ended_at: at(59), exception: 'x', summary: summary(tokens) } },
  });

  it('are those of production, also where they are stored, unless others are asked for', async () => {
    await startAll(EVALUATION);
    await app.post('/call/upsert_batch', { batch: [end('o', 1000), end('s', 7)] });
    const expectRight = async () => {
      expect(await stats()).toEqual([2, 1, 7]);
      expect(await stats({ trace_roots_only: true })).toEqual([1, 0, 7]);
      expect(await stats({ sources: ['evaluation'] })).toEqual([4, 1, 1000]);
      expect(await stats({ sources: ['evaluation'], trace_roots_only: true })).toEqual([
        1, 0, 1000,
      ]);
      expect(await stats({ sources: [] })).toEqual([6, 2, 1007]);
      expect(await stats({ trace_ids: ['t'] })).toEqual([4, 1, 1000]);
      const query = { $expr: { $eq: [{ $getField: 'source' }, { $literal: 'evaluation' }] } };
      expect(await stats(undefined, { query })).toEqual([4, 1, 1000]);
    };
    await expectRight();
    await ran(app.url, 'statistics of calls');
    await expectRight();
    await start({ id: 'e', op: 'no evaluation' });
    expect(await stats()).toEqual([6, 2, 1007]);
  });
});

describe('spans', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c';
  const id = (n: number) => `b${n.toString(16).padStart(15, '0')}`;
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const span = (n: number, parent: number | null, more: object = {}) => ({
    traceId: TRACE,
    spanId: id(n),
    ...(parent !== null && { parentSpanId: id(parent) }),
    name: `span ${n}`,
    startTimeUnixNano: `${1767225600 + n}000000000`,
    endTimeUnixNano: `${1767225601 + n}000000000`,
    ...more,
  });
  const send = async (spans: object[], resource: object = {}) => {
    const request = { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] };
    const headers = { project_id, 'content-type': 'application/json' };
    const answer = await app.post('/otel/v1/traces', JSON.stringify(request), { headers });
    expect(answer.status).toBe(200);
  };

  it('are of an evaluation from the one that says so on, whose children come first', async () => {
    await send([span(3, 2), span(4, 9)]);
    await send([span(2, 1)]);
    expect(new Set(Object.values(await sources()))).toEqual(new Set(['production']));
    await send([span(1, null, { attributes: [text('gen_ai.operation.name', 'experiment')] })]);
    expect(await sources()).toEqual({
      [id(1)]: 'evaluation',
      [id(2)]: 'evaluation',
      [id(3)]: 'evaluation',
      [id(4)]: 'production',
    });
  });

  it('are of what their resource says', async () => {
    await send([span(1, null), span(2, 1, { attributes: [text('skein.source', 'production')] })], {
      attributes: [text('skein.source', 'playground')],
    });
    expect(await sources()).toEqual({ [id(1)]: 'playground', [id(2)]: 'production' });
  });

  it.each([
    ['before', [0, 1]],
    ['behind', [1, 0]],
  ])('are of the evaluation in which they ran, which comes %s them', async (_, order) => {
    const steps = [
      () => startAll(EVALUATION),
      () => send([span(6, 5), span(5, null, { attributes: [text('weave.parent_call.id', 'n')] })]),
    ];
    for (const step of order) await steps[step]!();
    expect(await sources()).toEqual({
      ...EXPECTED,
      [id(5)]: 'evaluation',
      [id(6)]: 'evaluation',
    });
  });
});

describe('the background', () => {
  it('reads the sources of calls that an older build stored', async () => {
    const rows: [string, string | null, string, object][] = [
      ['d', 'c', 'op', {}],
      ['a', null, ref('Evaluation.evaluate'), {}],
      ['b', 'a', 'op', { weave: { client: 'x'.repeat(2000) } }],
      ['c', 'b', 'op', {}],
      ['p', null, 'op', { resource: { 'skein.source': 'playground' }, 'weave.evaluation': 1 }],
      ['q', null, 'op', { 'langfuse.experiment.metadata': 'x'.repeat(2000) }],
      ['z', null, 'op', { 'skein.source': 'nonsense' }],
    ];
    for (const [i, [id, parent, op, attributes]] of rows.entries())
      await app.query(
        `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at, attributes, is_opaque)
         VALUES ($1, $2, 't', $3, $4, $5, $6, $2 = 'q')`,
        [project_id, id, parent, op, at(i), JSON.stringify(attributes)],
      );
    expect(new Set(Object.values(await sources()))).toEqual(new Set(['production']));
    await app.query('INSERT INTO orphan_walks (project_id, until) VALUES ($1, $2)', [
      project_id,
      at(50),
    ]);
    await ran(app.url, 'parents of calls');
    expect(await sources()).toEqual({
      a: 'evaluation',
      b: 'evaluation',
      c: 'evaluation',
      d: 'evaluation',
      p: 'playground',
      q: 'evaluation',
      z: 'production',
    });
    await ran(app.url, 'parents of calls');
    const ready = (await (await fetch(`${app.url}/ready`)).json()) as any;
    expect(ready.unfilled_rows).toMatchObject({ sources: 0 });
  });

  it('passes a source on to calls of which another process had stored the parent meanwhile', async () => {
    await startAll(EVALUATION);
    await app.query(
      `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at, is_orphan, has_unread_usage)
       VALUES ($1, 'k', 't', 'e', 'op', $2, true, false), ($1, 'l', 't', 'k', 'op', $2, false, false)`,
      [project_id, at(5)],
    );
    await ran(app.url, 'parents of calls');
    expect(await sources()).toMatchObject({ k: 'evaluation', l: 'evaluation' });
  });
});
