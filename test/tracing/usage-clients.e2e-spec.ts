import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { basic, send } from '../support/app.js';
import { startWeaveServer, type WeaveServer } from '../support/client.js';
import { until } from '../support/until.js';

/** Requests of published clients that recorded calls of models (scripts/record-usage.mjs). */
const FOLDER = 'test/fixtures/usage';
interface Sent {
  path: string;
  type: string;
  body?: unknown;
  base64?: string;
}

/*
 * The usage in the providers' answers, and its price in millionths of a dollar.
 *
 * Prices in USD for a million tokens: Claude Sonnet 4.5 costs 3 for input, 0.30 for cache reads and 15 for output.
 * GPT-4o mini costs 0.15, 0.075 and 0.60.
 *
 * - Claude: 100 input tokens, 900 cache reads besides, 10 output: 100 × 3 + 900 × 0.30 + 10 × 15 = 720
 * - chat: 200 input tokens, 128 of them cached, 20 output: 72 × 0.15 + 128 × 0.075 + 20 × 0.60 = 32.4
 * - responses: 300 input tokens, 256 of them cached, 30 output: 44 × 0.15 + 256 × 0.075 + 30 × 0.60 = 43.8
 * - Langfuse: 122 input tokens, 78 cache reads besides, 21 output: 122 × 0.15 + 78 × 0.075 + 21 × 0.60 = 36.75
 */
const CLAUDE = { tokens: 1010, cost: 0.000_72 };
const CHAT = { tokens: 220, cost: 0.000_032_4 };
const RESPONSES = { tokens: 330, cost: 0.000_043_8 };
const NET = { tokens: 221, cost: 0.000_036_75 };

interface Expected {
  /** The cost of each call alone, keyed by the op of the parent and its own op. */
  calls: Record<string, number>;
  /** Totals keyed by model, with each request counted once. */
  models: Record<string, { tokens: number; cost: number }>;
}
const [SONNET, MINI, MINI_LONG] = [
  'claude-sonnet-4-5-20250929',
  'gpt-4o-mini',
  'gpt-4o-mini-2024-07-18',
];
const both = { tokens: CHAT.tokens + RESPONSES.tokens, cost: 0.000_076_2 };

const EXPECTED: Record<string, Expected> = {
  'langfuse-js': {
    calls: { 'answer/ask': NET.cost, 'answer/observed': CHAT.cost },
    models: { [MINI]: NET, [MINI_LONG]: CHAT },
  },
  'langfuse-python-openai': {
    calls: { 'OpenAI-generation': CHAT.cost },
    models: { [MINI_LONG]: CHAT },
  },
  'openinference-anthropic': {
    calls: {
      'messages.create': CLAUDE.cost,
      'messages.create/anthropic.messages.create': CLAUDE.cost,
    },
    models: { [SONNET]: CLAUDE },
  },
  // two traces, because this instrumentation does not make its span the parent of Anthropic's span
  'openllmetry-anthropic': {
    calls: { 'anthropic.chat': CLAUDE.cost, 'anthropic.messages.create': CLAUDE.cost },
    models: { [SONNET]: CLAUDE },
  },
  'weave-npm': {
    calls: {
      answer: CLAUDE.cost + both.cost,
      'answer/openai.chat.completions.create': CHAT.cost,
      'answer/create': CLAUDE.cost + RESPONSES.cost,
    },
    models: { [SONNET]: CLAUDE, [MINI_LONG]: both },
  },
  // weave also sends Anthropic's own span, in a trace of its own
  'weave-python-anthropic': {
    calls: {
      answer: CLAUDE.cost,
      'answer/anthropic.Messages.create': CLAUDE.cost,
      'anthropic.messages.create': CLAUDE.cost,
    },
    models: { [SONNET]: CLAUDE },
  },
  'weave-python-openai': {
    calls: {
      answer: both.cost,
      'answer/openai.chat.completions.create': CHAT.cost,
      'answer/openai.responses.create': RESPONSES.cost,
    },
    models: { [MINI_LONG]: both },
  },
};

let server: WeaveServer;
let database: pg.Client;
beforeAll(async () => {
  server = await startWeaveServer();
  database = new pg.Client(server.databaseUrl);
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await server.close();
});

const fixture = (name: string): Sent[] =>
  JSON.parse(readFileSync(`${FOLDER}/${name}.json`, 'utf8')).requests;

/** Sends recorded requests to another project. */
async function replay(name: string, project: string, requests: Sent[]) {
  for (const { path, type, body, base64 } of requests) {
    const renamed = (text: string) => text.replaceAll(`acme/${name}`, project);
    const isLangfuse = path.startsWith('/api/public/');
    const answer = await send(
      server.url + renamed(path),
      base64 ? Buffer.from(base64, 'base64') : renamed(JSON.stringify(body)),
      {
        'content-type': type,
        project_id: project,
        authorization: basic(server.key, isLangfuse ? project : 'api'),
      },
    );
    expect([answer.text, answer.status < 300]).toEqual([answer.text, true]);
  }
}

const post = async (path: string, body: object) => (await server.post(path, body)).body;
const micros = (cost: number) => Math.round(cost * 1e12) / 1e6;
const sumsOf = (entries: Record<string, { tokens: number; cost: number }>) =>
  Object.fromEntries(
    Object.entries(entries).map(([model, { tokens, cost }]) => [model, [tokens, micros(cost)]]),
  );

async function statistics(project_id: string) {
  const { usage_buckets: buckets } = await post('/calls/stats', {
    project_id,
    start: '2026-11-01T00:00:00Z',
    end: '2026-12-01T00:00:00Z',
    granularity: 2_592_000,
    usage_metrics: [{ metric: 'total_tokens' }, { metric: 'total_cost' }],
  });
  return Object.fromEntries(
    buckets.map((one: any) => [one.model, [one.sum_total_tokens, micros(one.sum_total_cost)]]),
  );
}

function totalOf(usages: any[]) {
  const totals: Record<string, { tokens: number; cost: number }> = {};
  for (const usage of usages)
    for (const [model, one] of Object.entries<any>(usage)) {
      const total = (totals[model] ??= { tokens: 0, cost: 0 });
      total.tokens += one.total_tokens;
      for (const [name, cost] of Object.entries<any>(one))
        if (name.endsWith('_total_cost')) total.cost += cost;
    }
  return sumsOf(totals);
}

it('has what each recorded client costs', () => {
  const recorded = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  expect(recorded.map((name) => name.slice(0, -5)).toSorted()).toEqual(Object.keys(EXPECTED));
});

describe.each(Object.entries(EXPECTED))('%s', (name, { calls, models }) => {
  it.each([
    ['as it was sent', (requests: Sent[]) => requests],
    ['the last request first', (requests: Sent[]) => requests.toReversed()],
  ])('costs what the provider charges, %s', async (order, ordered) => {
    const project_id = `acme/${name}-${order.length}`;
    await replay(name, project_id, ordered(fixture(name)));
    const found = await server.callsOf(project_id);
    const opOf = (call: any) => call.op_name.replace(/^weave:.*\/op\/|:[^:]*$/g, '');
    const costs: Record<string, number> = {};
    for (const call of found) {
      const parent = found.find(({ id }) => id === call.parent_id);
      const path = parent ? `${opOf(parent)}/${opOf(call)}` : opOf(call);
      for (const { total_cost } of Object.values<any>(call.summary.weave.costs))
        costs[path] = micros((costs[path] ?? 0) / 1e6 + total_cost);
    }
    expect(costs).toEqual(
      Object.fromEntries(Object.entries(calls).map(([path, cost]) => [path, micros(cost)])),
    );

    const sums = sumsOf(models);
    expect(await statistics(project_id)).toEqual(sums);
    const request = { project_id, include_costs: true };
    const { call_usage: ofAll } = await post('/trace/usage', request);
    const roots = found.filter(({ parent_id }) => parent_id === null).map(({ id }) => id);
    const call_ids = found.map(({ id }) => id);
    const { call_usage: ofCalls } = await post('/calls/usage', { ...request, call_ids });
    expect(ofCalls).toEqual(ofAll);
    // two traces that report one request count it once each
    const isTwice = ['openllmetry-anthropic', 'weave-python-anthropic'].includes(name);
    for (const ids of isTwice ? roots.map((id: string) => [id]) : [roots])
      expect(totalOf(ids.map((id: string) => ofAll[id]))).toEqual(sums);

    const marks = 'SELECT FROM call_slot_marks WHERE project_id = $1';
    await until(async () => (await database.query(marks, [project_id])).rowCount === 0);
    expect(await statistics(project_id)).toEqual(sums);
  });
});
