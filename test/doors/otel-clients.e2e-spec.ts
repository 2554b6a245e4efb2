import { readFileSync } from 'node:fs';
import { basic, send, useApp } from '../support/app.js';
import { COSTS, sumCosts } from '../support/provider-costs.js';

const app = useApp();

/** Recordings of clients (scripts/record-otlp.mjs), and the price of their programs' requests. */
it.each([
  ['vercel-ai-7', { s1: 3 }],
  ['mastra', { s1: 1 }],
  ['logfire-agent', { '*': 1 }],
  ['logfire-openai-agents', {}],
  ['litellm-otel', {}],
  ['langsmith-langchain', { s1: 1 }],
  ['phoenix-otel-grpc', { s1: 3 }],
  ['claude-code', { '*': 1 }],
])('%s costs what the provider asks, and its turns are in its threads', async (name, threads) => {
  const project_id = `acme/${name}`;
  const { spans } = JSON.parse(readFileSync(`test/fixtures/otlp/${name}.json`, 'utf8'));
  const resourceSpans = spans.map(({ origin, span }: any) => ({
    resource: origin.resource,
    scopeSpans: [{ scope: origin.scope, spans: [span] }],
  }));
  const sent = await app.post('/otel/v1/traces', { resourceSpans }, { headers: { project_id } });
  expect(sent.text).toBe('{}');
  const { body } = await app.post('/calls/query', { project_id, include_costs: true });
  const isFolded = /^claude_code\.tool\.(execution|blocked_on_user)$/; // folded by the default of OTLP_FOLD
  const stored = spans.filter(({ span }: any) => !isFolded.test(span.name));
  expect(body.calls).toHaveLength(stored.length);
  expect(sumCosts(body.calls)).toBeCloseTo(COSTS[name]!, 12);
  const turns: Record<string, number> = {};
  for (const { thread_id, turn_id, id } of body.calls)
    if (turn_id === id) turns[thread_id] = (turns[thread_id] ?? 0) + 1;
  const named = '*' in threads ? { '*': Object.values(turns).reduce((a, b) => a + b, 0) } : turns;
  expect(named).toEqual(threads);
});

it.each(['Basic', 'Bearer'])(
  'takes headers as Claude Code sends them, percent-encoded: %s',
  async (scheme) => {
    const header = scheme === 'Basic' ? basic(app.key) : `Bearer ${app.key}`;
    const encoded = (value: string) => encodeURIComponent(value);
    const answer = await send(
      `${app.url}/v1/traces`,
      { resourceSpans: [] },
      { authorization: encoded(header), project_id: encoded('acme/demo') },
    );
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    const broken = { authorization: `${scheme}%20%zz` };
    expect((await send(`${app.url}/v1/traces`, {}, broken)).status).toBe(401);
    const elsewhere = await send(`${app.url}/calls/query`, {}, { authorization: encoded(header) });
    expect(elsewhere.status).toBe(401);
  },
);
