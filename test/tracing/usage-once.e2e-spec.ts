import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { CallSlotsRefresher } from '../../src/tracing/calls/stats/call-slots.refresher.js';
import { basic, send, useApp } from '../support/app.js';
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

const INGESTION = '/api/public/ingestion';
const ingested = async (project_id: string, ...batch: object[]) => {
  const answer = await send(
    app.url + INGESTION,
    { batch, metadata: {} },
    { authorization: basic(app.key, project_id) },
  );
  expect([answer.text, JSON.parse(answer.text).errors]).toEqual([answer.text, []]);
};

type Kinds = [prompt: number, completion: number, read: number, created: number];
type Tokens = Record<string, Kinds>;
const NAMES = ['prompt', 'completion', 'cache_read_input', 'cache_creation_input'].map(
  (kind) => `${kind}_tokens`,
);
const inputOf = ([prompt, , read, created]: Kinds) => prompt + read + created;

/** A returned call, with the usage that it reports by model. */
interface Seen {
  id: string;
  parent_id: string | null;
  trace_id: string;
  started_at: string;
  ended_at: string;
  op_name: string;
  response: string | null;
  /** The usage is the sum of what other calls report. */
  isSum: boolean;
  /** The usage is that of a single request. */
  isOne: boolean;
  says: Tokens;
}

async function callsOf(project_id: string): Promise<Seen[]> {
  const { calls } = await done('/calls/query', { project_id, include_costs: true });
  return calls.map(({ output, summary, ...call }: any) => ({
    ...call,
    response: !SUMS.has(call.id) && output?.usage && summary.usage ? output.id : null,
    isSum: summary.usage !== undefined && SUMS.has(call.id),
    isOne:
      Object.keys(summary.usage ?? {}).length === 1 &&
      [1, undefined].includes(Object.values<any>(summary.usage)[0].requests),
    says: Object.fromEntries(
      Object.entries<any>(SUMS.has(call.id) ? (summary.usage ?? {}) : summary.svc.costs).map(
        ([model, cost]) => [model, NAMES.map((name) => cost[name] ?? 0)],
      ),
    ),
  }));
}

const order = ({ started_at, id }: Seen) => `${started_at} ${id}`;

const total = (says: Tokens, count: (kinds: Kinds) => number) =>
  Object.values(says).reduce((sum, kinds) => sum + count(kinds), 0);
const outputOf = (kinds: Kinds) => kinds[1];
const tellsOne = ({ response, isOne }: Seen) => response !== null && isOne;

/** True when the second call begins within 5 s of the end of the first and within 10 minutes of its start. */
const isClose = (first: Seen, second: Seen) => {
  const [start, end, then] = [first.started_at, first.ended_at, second.started_at].map((time) =>
    Date.parse(time),
  ) as [number, number, number];
  return then <= Math.max(start, end) + 5000 && then <= start + 600_000;
};

/** Computes from all calls the usage that each call adds to that of the others. */
function beyondOf(calls: Seen[]): { call: Seen; isRepeat: boolean; adds: Tokens }[] {
  const inOrder = calls.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
  const isSame = (one: Seen, other: Seen) =>
    one.response !== null &&
    one.response === other.response &&
    total(one.says, inputOf) === total(other.says, inputOf) &&
    total(one.says, outputOf) === total(other.says, outputOf) &&
    (order(one) < order(other) ? isClose(one, other) : isClose(other, one));
  const isRepeat = (call: Seen): boolean => {
    const same = inOrder.filter((other) => other !== call && isSame(call, other));
    if (call.isSum && same.some((other) => !other.isSum)) return true;
    const alike = same.filter((other) => other.isSum === call.isSum);
    const before = alike.filter((other) => order(other) < order(call));
    const [next] = alike.filter((other) => order(other) > order(call));
    return (
      before.some(({ trace_id }) => trace_id !== call.trace_id) || next?.trace_id === call.trace_id
    );
  };
  const isSaying = (call: Seen) => Object.keys(call.says).length > 0 && !isRepeat(call);
  const childrenOf = (call: Seen) =>
    calls.filter(({ parent_id, trace_id }) => parent_id === call.id && trace_id === call.trace_id);

  /** The calls below a call whose usage it includes. */
  const heldBy = (owner: Seen): Seen[] => {
    const nearest = (call: Seen): Seen[] =>
      childrenOf(call).flatMap((child) => (isSaying(child) ? [child] : nearest(child)));
    if (tellsOne(owner))
      return nearest(owner).filter(
        (call) => call.response === owner.response || (call.response === null && !call.isSum),
      );
    // a call with the usage of one response does not include other responses below it
    const withOthers = (call: Seen): Seen[] =>
      tellsOne(call) ? [call, ...othersBelow(call, call.response!)] : [call];
    const othersBelow = (call: Seen, response: string): Seen[] =>
      nearest(call).flatMap((below) => {
        if (below.response === response && tellsOne(below) && !below.isSum)
          return othersBelow(below, response);
        const isOther = below.isSum || (below.response !== null && below.response !== response);
        return isOther ? withOthers(below) : [];
      });
    return nearest(owner).flatMap(withOthers);
  };
  const isSameBelow = (owner: Seen): boolean => {
    if (owner.response === null || owner.isSum) return false;
    const seen = (call: Seen): boolean =>
      childrenOf(call).some((child) =>
        !isSaying(child)
          ? seen(child)
          : child.response === owner.response ||
            (!tellsOne(owner) && tellsOne(child) && seen(child)),
      );
    return seen(owner);
  };
  return calls.map((call) => {
    const below = heldBy(call);
    const adds: Tokens = {};
    const told = sumOf(below.map(({ says }) => says));
    const [own, held] = [Object.keys(call.says), Object.keys(told)];
    // the same model under another name
    const isAll =
      own.length === 1 &&
      held.length === 1 &&
      (own[0]!.startsWith(held[0]!) || held[0]!.startsWith(own[0]!)) &&
      [inputOf, outputOf].every((count) => total(call.says, count) === total(told, count));
    // a sum includes usage of models that it does not name
    const excess = [inputOf, outputOf].map((count) =>
      Object.entries(call.isSum ? told : {}).reduce(
        (sum, [model, kinds]) => sum + Math.max(0, count(kinds) - count(call.says[model] ?? NONE)),
        0,
      ),
    );
    for (const [model, own] of Object.entries(call.says).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      if (isAll || isSameBelow(call)) continue;
      const more = (count: (kinds: Kinds) => number) =>
        Math.max(0, count(own) - count(told[model] ?? NONE));
      const [input, completion] = [inputOf, outputOf].map((count, i) => {
        const taken = Math.min(excess[i]!, more(count));
        excess[i]! -= taken;
        return more(count) - taken;
      }) as [number, number];
      if (below.length > 0 && (told[model] || call.isSum) && input + completion === 0) continue;
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

const NONE: Kinds = [0, 0, 0, 0];

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

/** Ids of calls. Those with `s` are agents of Langfuse, whose usage is the sum of other calls. */
const IDS = ['c0', 's1', 'c2', 'c3', 's4', 'c5', 'c6', 'c7', 's8'];
const SUMS = new Set(IDS.filter((id) => id.startsWith('s')));
const CALLS = IDS.filter((id) => !SUMS.has(id));
const count = fc.constantFrom(0, 1, 7, 100);
const requests = fc.option(fc.constantFrom(0, 1, 2), { nil: undefined });
const entry = fc.oneof(
  fc.record({ prompt_tokens: count, completion_tokens: count, requests }),
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
/** A parent earlier in the list, so that parents form no cycle. */
const parentOf = (id: string, place: number | null) =>
  place !== null && place < IDS.indexOf(id) ? IDS[place] : null;

const python = { weave: { source: 'python-sdk', client_version: '0.54.0' } };
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...CALLS),
        parent: fc.option(fc.nat(IDS.length - 1), { freq: 6 }),
        trace_id: fc.constantFrom('t', 't', 't', 'u'),
        second: fc.constantFrom(0, 1, 4, 240, 243, 306, 1200, 3540),
        op_name: fc.constantFrom('a', 'b'),
        attributes: fc.constantFrom({}, python),
      })
      .map(({ id, parent, second, ...start }) => ({
        path: '/call/start',
        body: (project_id: string) => ({
          start: {
            project_id,
            id,
            parent_id: parentOf(id, parent),
            started_at: new Date(START + second * 1000).toISOString(),
            ...start,
          },
        }),
      })),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...CALLS),
        usage: fc.option(fc.dictionary(fc.constantFrom('m', 'm-1', 'n'), entry, { maxKeys: 2 }), {
          freq: 4,
        }),
        response: fc.option(fc.constantFrom('r1', 'r2'), { freq: 2 }),
        second: fc.constantFrom(0, 2, 241, 300, 3541),
      })
      .map(({ id, usage, response, second }) => ({
        path: '/call/end',
        body: (project_id: string) => ({
          end: {
            ...{ project_id, id, ended_at: new Date(START + second * 1000).toISOString() },
            output: response && { id: response, usage: {} },
            summary: usage && { usage },
          },
        }),
      })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...SUMS),
        parent: fc.option(fc.nat(IDS.length - 1), { freq: 6 }),
        traceId: fc.constantFrom('t', 't', 'u'),
        second: fc.constantFrom(0, 1, 240, 1200),
        model: fc.constantFrom('m', 'n', undefined),
        input: count,
        output: count,
      })
      .map(({ id, parent, second, input, output, ...more }) => ({
        path: INGESTION,
        body: () => ({
          id: randomUUID(),
          timestamp: '2026-02-01T00:00:00Z',
          type: 'agent-create',
          body: {
            ...{ id, name: 'a', parentObservationId: parentOf(id, parent), ...more },
            startTime: new Date(START + second * 1000).toISOString(),
            endTime: new Date(START + (second + 1) * 1000).toISOString(),
            usageDetails: { input, output },
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
          else if (path === INGESTION) await ingested(project_id, body(project_id));
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
