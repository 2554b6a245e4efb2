import fc from 'fast-check';
import { CallSlotsRefresher } from '../../src/tracing/calls/stats/call-slots.refresher.js';
import { useApp } from '../support/app.js';
import { until } from '../support/until.js';

const app = useApp();

let projects = 0;
const aProject = () => `acme/once${projects++}`;
const refresh = () => app.app.get(CallSlotsRefresher).refresh();
const done = async (path: string, body: object) => {
  const answer = await app.post(path, body);
  expect([answer.text, answer.status]).toEqual([answer.text, 200]);
  return answer.body;
};

type Kinds = [prompt: number, completion: number, read: number, created: number];
type Tokens = Record<string, Kinds>;
const NAMES = ['prompt', 'completion', 'cache_read_input', 'cache_creation_input'].map(
  (kind) => `${kind}_tokens`,
);
const inputOf = ([prompt, , read, created]: Kinds) => prompt + read + created;

/** A call as it is answered, and what it says by model. */
interface Seen {
  id: string;
  parent_id: string | null;
  trace_id: string;
  started_at: string;
  op_name: string;
  response: string | null;
  says: Tokens;
}

async function callsOf(project_id: string): Promise<Seen[]> {
  const { calls } = await done('/calls/query', { project_id, include_costs: true });
  return calls.map(({ id, parent_id, trace_id, started_at, op_name, output, summary }: any) => ({
    ...{ id, parent_id, trace_id, started_at, op_name },
    response: output?.usage && summary.usage ? output.id : null,
    says: Object.fromEntries(
      Object.entries<any>(summary.svc.costs).map(([model, cost]) => [
        model,
        NAMES.map((name) => cost[name]),
      ]),
    ),
  }));
}

const order = ({ started_at, id }: Seen) => `${started_at} ${id}`;

/** What each call adds to the usage of others, by looking at every other call. */
function beyondOf(calls: Seen[]): { call: Seen; isRepeat: boolean; adds: Tokens }[] {
  const isRepeat = (call: Seen) =>
    calls.some(
      (other) =>
        call.response !== null &&
        other.response === call.response &&
        order(other) < order(call) &&
        (other.trace_id !== call.trace_id || other.parent_id === call.parent_id),
    );
  const isSaying = (call: Seen) => Object.keys(call.says).length > 0 && !isRepeat(call);
  const nearest = (call: Seen): Seen[] =>
    calls
      .filter(({ parent_id, trace_id }) => parent_id === call.id && trace_id === call.trace_id)
      .flatMap((child) => (isSaying(child) ? [child] : nearest(child)));
  return calls.map((call) => {
    const below = nearest(call);
    const isSame = below.some(({ response }) => response !== null && response === call.response);
    const adds: Tokens = {};
    for (const [model, own] of isSame ? [] : Object.entries(call.says)) {
      const said = below.flatMap(({ says }) => (says[model] ? [says[model]] : []));
      const more = (count: (kinds: Kinds) => number) =>
        Math.max(0, count(own) - said.reduce((sum, kinds) => sum + count(kinds), 0));
      const [input, completion] = [more(inputOf), more((kinds) => kinds[1])];
      if (said.length > 0 && input + completion === 0) continue;
      const read = Math.min(
        input,
        more((kinds) => kinds[2]),
      );
      const created = Math.min(
        input - read,
        more((kinds) => kinds[3]),
      );
      adds[model] = [input - read - created, completion, read, created];
    }
    return { call, isRepeat: isRepeat(call), adds };
  });
}

const sumOf = (all: Tokens[]) => {
  const sums: Tokens = {};
  for (const tokens of all)
    for (const [model, kinds] of Object.entries(tokens))
      sums[model] = kinds.map((kind, i) => kind + (sums[model]?.[i] ?? 0)) as Kinds;
  return sums;
};

const START = Date.parse('2026-02-01T00:00:00Z');
const WINDOW = { start: '2026-02-01T00:00:00Z', end: '2026-02-01T01:00:00Z', granularity: 300 };

async function expectCountedOnce(project_id: string) {
  const calls = await callsOf(project_id);
  const counted = beyondOf(calls);

  for (const group_by of [undefined, ['op_name']]) {
    const { usage_buckets: buckets } = await done('/calls/stats', {
      project_id,
      ...WINDOW,
      ...(group_by && { group_by }),
      usage_metrics: ['input', 'output', 'cache_read_input', 'cache_creation_input'].map(
        (kind) => ({
          metric: `${kind}_tokens`,
        }),
      ),
    });
    const expected: Record<string, unknown[]> = {};
    for (const { call, isRepeat, adds } of counted)
      for (const [model, kinds] of isRepeat ? [] : Object.entries(adds)) {
        const bucket = Math.floor((Date.parse(call.started_at) - START) / 300_000);
        const key = `${bucket} ${model} ${group_by ? call.op_name : ''}`;
        const was = (expected[key] ?? [0, 0, 0, 0, 0]) as number[];
        const now = [1, inputOf(kinds), kinds[1], kinds[2], kinds[3]];
        expected[key] = now.map((value, i) => value + was[i]!);
      }
    const found = buckets.map((one: any) => [
      `${(Date.parse(one.timestamp) - START) / 300_000} ${one.model} ${one.op_name ?? ''}`,
      [
        one.count,
        one.sum_input_tokens,
        one.sum_output_tokens,
        one.sum_cache_read_input_tokens,
        one.sum_cache_creation_input_tokens,
      ],
    ]);
    expect(Object.fromEntries(found)).toEqual(expected);
  }

  const { call_usage: usage } = await done('/trace/usage', { project_id });
  const parentOf = (call: Seen) =>
    calls.find(({ id, trace_id }) => id === call.parent_id && trace_id === call.trace_id);
  const isBelow = (call: Seen, above: Seen): boolean => {
    const parent = parentOf(call);
    return parent === above || (parent !== undefined && isBelow(parent, above));
  };
  for (const { call, adds } of counted) {
    const below = counted.filter((other) => !other.isRepeat && isBelow(other.call, call));
    const found = Object.entries<any>(usage[call.id]).map(([model, one]) => [
      model,
      NAMES.map((name) => one[name]),
    ]);
    expect(Object.fromEntries(found)).toEqual(sumOf([adds, ...below.map((one) => one.adds)]));
  }
}

const IDS = Array.from({ length: 9 }, (_, i) => `c${i}`);
const count = fc.constantFrom(0, 1, 7, 100);
const entry = fc.oneof(
  fc.record({ prompt_tokens: count, completion_tokens: count }),
  fc.record({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  }),
  fc.record({
    prompt_token_count: count,
    candidates_token_count: count,
    thoughts_token_count: count,
  }),
);
const python = { weave: { source: 'python-sdk', client_version: '0.54.0' } };
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({
        n: fc.nat(IDS.length - 1),
        parent: fc.option(fc.nat(IDS.length - 1), { freq: 6 }),
        trace_id: fc.constantFrom('t', 't', 't', 'u'),
        minute: fc.constantFrom(0, 1, 4, 6, 20, 59),
        op_name: fc.constantFrom('a', 'b'),
        attributes: fc.constantFrom({}, python),
      })
      .map(({ n, parent, minute, ...start }) => ({
        path: '/call/start',
        body: (project_id: string) => ({
          start: {
            project_id,
            id: IDS[n],
            // above it in the list, so that parents do not go round in a circle
            parent_id: parent !== null && parent < n ? IDS[parent] : null,
            started_at: new Date(START + minute * 60_000).toISOString(),
            ...start,
          },
        }),
      })),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...IDS),
        usage: fc.option(fc.dictionary(fc.constantFrom('m', 'n'), entry, { maxKeys: 2 }), {
          freq: 4,
        }),
        response: fc.option(fc.constantFrom('r1', 'r2'), { freq: 1 }),
      })
      .map(({ id, usage, response }) => ({
        path: '/call/end',
        body: (project_id: string) => ({
          end: {
            ...{ project_id, id, ended_at: '2026-02-02T00:00:00Z' },
            output: response && { id: response, usage: {} },
            summary: usage && { usage },
          },
        }),
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('/calls/delete', '/calls/purge'), fc.constantFrom(...IDS))
      .map(([path, id]) => ({
        path,
        body: (project_id: string) => ({ project_id, call_ids: [id] }),
      })),
  },
  { weight: 3, arbitrary: fc.constant({ path: 'refresh', body: () => ({}) }) },
);

describe('usage is counted once', () => {
  it('whatever arrives in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const project_id = aProject();
        for (const { path, body } of steps)
          if (path === 'refresh') await refresh();
          else await done(path, body(project_id));
        await expectCountedOnce(project_id);
        await refresh();
        const marks = 'SELECT FROM call_slot_marks WHERE project_id = $1';
        await until(async () => (await app.query(marks, [project_id])).length === 0);
        await expectCountedOnce(project_id);
      }),
      { numRuns: 40, interruptAfterTimeLimit: 90_000 },
    );
  });

  interface Call {
    parent_id?: string;
    minute?: number;
    usage?: object;
  }
  async function stored(project_id: string, calls: Record<string, Call>) {
    for (const [id, { parent_id = null, minute = 0, usage }] of Object.entries(calls)) {
      const started_at = new Date(START + minute * 60_000).toISOString();
      const start = { project_id, id, parent_id, trace_id: 't', op_name: id, started_at };
      await done('/call/start', { start });
      const summary = usage && { usage };
      await done('/call/end', { end: { project_id, id, ended_at: started_at, summary } });
    }
  }
  const inputs = async (project_id: string) => {
    const usage_metrics = [{ metric: 'input_tokens' }];
    const request = { project_id, ...WINDOW, granularity: 3600, usage_metrics };
    const { usage_buckets: buckets } = await done('/calls/stats', request);
    return Object.fromEntries(buckets.map((one: any) => [one.model, one.sum_input_tokens]));
  };
  const m = (prompt_tokens: number) => ({ m: { prompt_tokens } });

  it('does not count what parents repeat, whatever lies between', async () => {
    const project_id = aProject();
    await stored(project_id, {
      root: { usage: { ...m(30), own: { prompt_tokens: 5 } } },
      between: { parent_id: 'root' },
      first: { parent_id: 'between', usage: m(10) },
      second: { parent_id: 'between', usage: m(20) },
    });
    expect(await inputs(project_id)).toEqual({ m: 30, own: 5 });
  });

  it('counts what a parent says beyond its children', async () => {
    const project_id = aProject();
    await stored(project_id, {
      root: { usage: m(37) },
      first: { parent_id: 'root', usage: m(10) },
      second: { parent_id: 'root', usage: m(20) },
    });
    expect(await inputs(project_id)).toEqual({ m: 37 });
  });

  it('counts a parent anew when a child comes late, and when it goes', async () => {
    const project_id = aProject();
    await stored(project_id, { root: { usage: m(30) } });
    await refresh();
    expect(await inputs(project_id)).toEqual({ m: 30 });
    await stored(project_id, {
      between: { parent_id: 'root', minute: 10 },
      late: { parent_id: 'between', minute: 20, usage: m(10) },
    });
    expect(await inputs(project_id)).toEqual({ m: 30 });
    await refresh();
    expect(await inputs(project_id)).toEqual({ m: 30 });
    await done('/calls/delete', { project_id, call_ids: ['late'] });
    expect(await inputs(project_id)).toEqual({ m: 30 });
    await done('/calls/purge', { project_id, call_ids: ['between'] });
    await refresh();
    expect(await inputs(project_id)).toEqual({ m: 30 });
  });
});
