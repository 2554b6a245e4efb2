import { randomUUID } from 'node:crypto';
import { basic, send, useApp } from '../support/app.js';

const app = useApp();
const project_id = 'acme/dialects';

/*
 * What the providers charge, in USD for a million tokens (their price lists of 2026):
 *   gemini-2.5-flash   input 0.30, from the cache 0.03, output and thoughts 2.50
 *   grok-4             input 3, from the cache 0.75, output and reasoning 15
 *   claude-sonnet-4-5  input 3, from the cache 0.30, to the cache 3.75, output 15
 *   deepseek-chat      input 0.27, from the cache 0.07, output 1.10
 *   gpt-4o-mini        input 0.15, from the cache 0.075, output 0.60
 *
 *   THOUGHTS  820 × 0.30 + (40 + 310) × 2.50 = 1121
 *   GROK      820 × 3 + (40 + 310) × 15 = 7710
 *   BEDROCK   5000 × 3 + 1000 × 0.30 + 100 × 3.75 + 20 × 15 = 15975
 *   DEEPSEEK  (1000 − 700) × 0.27 + 700 × 0.07 + 10 × 1.10 = 141
 *   TOOLS     (12 − 4 + 65) × 0.30 + 4 × 0.03 + (71 + 89) × 2.50 = 422.02
 *   MINI      (100 − 40) × 0.15 + 40 × 0.075 + (10 of which 4 reasoning) × 0.60 = 18
 */
const [FLASH, GROK, SONNET, DEEPSEEK, MINI] = [
  'gemini-2.5-flash',
  'grok-4',
  'claude-sonnet-4-5-20250929',
  'deepseek-chat',
  'gpt-4o-mini',
] as [string, string, string, string, string];

type Case = [what: string, model: string, usage: object, dollars: number];

/** What `summary.usage` says, as SDKs and the gateway pass it on. */
const ENTRIES: Case[] = [
  ['OpenInference-like counts', GROK, { prompt_tokens: 820, completion_tokens: 40, completion_tokens_details: { reasoning_tokens: 310 }, total_tokens: 1170 }, 7710],
  ['reasoning above the output without a total', GROK, { prompt_tokens: 820, completion_tokens: 40, completion_tokens_details: { reasoning_tokens: 310 } }, 7710],
  ['OpenAI, whose output holds the reasoning', MINI, { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 40 }, completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 4 }, total_tokens: 110 }, 18],
  ['Google for Python', FLASH, { prompt_token_count: 820, candidates_token_count: 40, thoughts_token_count: 310, total_token_count: 1170 }, 1121],
  ['Google for JavaScript', FLASH, { promptTokenCount: 820, candidatesTokenCount: 40, thoughtsTokenCount: 310, totalTokenCount: 1170 }, 1121],
  ['Google without a total', FLASH, { promptTokenCount: 820, candidatesTokenCount: 40, thoughtsTokenCount: 310 }, 1121],
  ['tools of Google', FLASH, { promptTokenCount: 12, cachedContentTokenCount: 4, candidatesTokenCount: 71, toolUsePromptTokenCount: 65, thoughtsTokenCount: 89, totalTokenCount: 237 }, 422.02],
  ['tools of Google for Python', FLASH, { prompt_token_count: 12, cached_content_token_count: 4, candidates_token_count: 71, tool_use_prompt_token_count: 65, thoughts_token_count: 89, total_token_count: 237 }, 422.02],
  ['Bedrock', SONNET, { inputTokens: 5000, outputTokens: 20, cacheReadInputTokens: 1000, cacheWriteInputTokens: 100, totalTokens: 6120 }, 15_975],
  ['Bedrock, snake case with a total', SONNET, { prompt_tokens: 5000, completion_tokens: 20, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100, total_tokens: 6120 }, 15_975],
  ['Anthropic', SONNET, { input_tokens: 5000, output_tokens: 20, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100 }, 15_975],
  ['those names with a gross total', SONNET, { input_tokens: 6100, output_tokens: 20, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100, total_tokens: 6120 }, 15_975],
  ['DeepSeek', DEEPSEEK, { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, prompt_cache_hit_tokens: 700, prompt_cache_miss_tokens: 300 }, 141],
  ['the AI SDK', FLASH, { inputTokens: 820, outputTokens: 40, reasoningTokens: 310, totalTokens: 1170 }, 1121],
  ['Langfuse', FLASH, { input: 820, output: 40, output_reasoning: 310, total: 1170 }, 1121],
]; // prettier-ignore

/** What spans say in attributes. */
const SPANS: Case[] = [
  ['OpenInference', GROK, { 'llm.token_count.prompt': 820, 'llm.token_count.completion': 40, 'llm.token_count.completion_details.reasoning': 310, 'llm.token_count.total': 1170 }, 7710],
  ['OpenTelemetry', FLASH, { 'gen_ai.usage.input_tokens': 820, 'gen_ai.usage.output_tokens': 40, 'gen_ai.usage.reasoning.output_tokens': 310, 'gen_ai.usage.total_tokens': 1170 }, 1121],
  ['Vercel', FLASH, { 'ai.usage.inputTokens': 820, 'ai.usage.outputTokens': 40, 'ai.usage.reasoningTokens': 310, 'ai.usage.totalTokens': 1170 }, 1121],
  ['Strands', SONNET, { 'gen_ai.usage.input_tokens': 5000, 'gen_ai.usage.output_tokens': 20, 'gen_ai.usage.cache_read_input_tokens': 1000, 'gen_ai.usage.cache_write_input_tokens': 100, 'gen_ai.usage.total_tokens': 6120 }, 15_975],
  ['Strands without a total', SONNET, { 'gen_ai.usage.input_tokens': 5000, 'gen_ai.usage.output_tokens': 20, 'gen_ai.usage.cache_read_input_tokens': 1000, 'gen_ai.usage.cache_write_input_tokens': 100 }, 15_975],
  ['the conventions, whose input holds the cached', SONNET, { 'gen_ai.usage.input_tokens': 6100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.usage.cache_read.input_tokens': 1000, 'gen_ai.usage.cache_creation.input_tokens': 100 }, 15_975],
  ['Sentry', MINI, { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.input_tokens.cached': 40, 'gen_ai.usage.output_tokens': 10, 'gen_ai.usage.output_tokens.reasoning': 4, 'gen_ai.usage.total_tokens': 110 }, 18],
  ['Mastra', MINI, { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.cached_input_tokens': 40, 'gen_ai.usage.output_tokens': 10 }, 18],
  ['Pydantic AI', MINI, { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.details.cache_read_input_tokens': 40, 'gen_ai.usage.output_tokens': 10 }, 18],
  ['LangSmith', FLASH, { 'langsmith.metadata.usage_metadata': JSON.stringify({ input_tokens: 820, output_tokens: 40, output_token_details: { reasoning: 310 }, total_tokens: 1170 }) }, 1121],
  ['Langfuse', FLASH, { 'langfuse.observation.usage_details': JSON.stringify({ input: 820, output: 40, output_reasoning_tokens: 310, total: 1170 }) }, 1121],
]; // prettier-ignore

/** What observations of Langfuse say. */
const OBSERVATIONS: Case[] = [
  ['details beside the output', FLASH, { usageDetails: { input: 820, output: 40, output_reasoning: 310, total: 1170 } }, 1121],
  ['details of gross counts', MINI, { usageDetails: { input: 100, input_cached_tokens: 40, output: 10, output_reasoning_tokens: 4, total: 110 } }, 18],
  ['the older usage', MINI, { usage: { promptTokens: 100, completionTokens: 10, totalTokens: 110 } }, 21],
  ['Google for JavaScript', FLASH, { usageDetails: { promptTokenCount: 820, candidatesTokenCount: 40, thoughtsTokenCount: 310, totalTokenCount: 1170 } }, 1121],
  ['Anthropic', SONNET, { usageDetails: { input: 5000, output: 20, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100 } }, 15_975],
]; // prettier-ignore

let traces = 0;
/** Stores a call and answers its id. */
type Door = (model: string, usage: object) => Promise<string>;

const times = { started_at: '2026-11-01T10:00:00Z', ended_at: '2026-11-01T10:00:01Z' };
const entry = (model: string, usage: object) => ({ usage: { [model]: { requests: 1, ...usage } } });
const ok = ({ status, text }: { status: number; text: string }) =>
  expect([status < 300, text]).toEqual([true, text]);

const byEnd: Door = async (model, usage) => {
  const id = randomUUID();
  const start = { project_id, id, op_name: 'op', started_at: times.started_at };
  ok(await app.post('/call/start', { start: { ...start, attributes: {}, inputs: {} } }));
  const end = { project_id, id, ended_at: times.ended_at, output: {} };
  ok(await app.post('/call/end', { end: { ...end, summary: entry(model, usage) } }));
  return id;
};

const byBatch: Door = async (model, usage) => {
  const id = randomUUID();
  const start = { project_id, id, op_name: 'op', started_at: times.started_at };
  const end = { project_id, id, ended_at: times.ended_at, summary: entry(model, usage) };
  const batch = [
    { mode: 'start', req: { start: { ...start, attributes: {}, inputs: {} } } },
    { mode: 'end', req: { end } },
  ];
  ok(await app.post('/call/upsert_batch', { batch }));
  return id;
};

const bySpan: Door = async (model, usage) => {
  const traceId = (++traces).toString(16).padStart(32, '0');
  const value = (one: unknown) =>
    typeof one === 'number'
      ? Number.isSafeInteger(one)
        ? { intValue: String(one) }
        : { doubleValue: one }
      : { stringValue: one };
  const attributes = Object.entries({ 'gen_ai.request.model': model, ...usage });
  const span = {
    traceId,
    spanId: traceId.slice(16),
    name: 'chat',
    kind: 3,
    startTimeUnixNano: '1793527200000000000',
    endTimeUnixNano: '1793527201000000000',
    attributes: attributes.map(([key, one]) => ({ key, value: value(one) })),
  };
  const body = { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: [span] }] }] };
  ok(await app.post('/otel/v1/traces', body, { headers: { project_id } }));
  return span.spanId;
};

const byLangfuse: Door = async (model, usage) => {
  const id = randomUUID();
  const body = { id, traceId: randomUUID(), name: 'llm', model, ...usage, startTime: times.started_at, endTime: times.ended_at }; // prettier-ignore
  const event = { id: randomUUID(), timestamp: times.ended_at, type: 'generation-create', body };
  const authorization = basic(app.key, project_id);
  ok(await send(`${app.url}/api/public/ingestion`, { batch: [event] }, { authorization }));
  return id;
};

const done = async (path: string, body: object) => {
  const answer = await app.post(path, { project_id, ...body });
  ok(answer);
  return answer.body;
};
const micros = (dollars: number | null) => dollars && Math.round(dollars * 1e12) / 1e6;

/** The cost of a call as every reader of costs answers it, which must be one. */
async function costOf(id: string): Promise<number | null> {
  const { call } = await done('/call/read', { id, include_costs: true });
  const [cost] = Object.values<any>(call.summary.svc.costs);
  const { calls: explained } = await done('/cost/explain', { call_ids: [id] });
  expect(explained[0].models[0].total_cost).toBe(cost.total_cost);
  const { call_usage: usage } = await done('/calls/usage', { call_ids: [id], include_costs: true });
  const [model] = Object.values<any>(usage[id]);
  const parts = Object.entries<any>(model).filter(([name]) => name.endsWith('_total_cost'));
  const sum = parts.reduce<number | null>(
    (sum, [, part]) => (sum === null || part === null ? null : sum + part),
    0,
  );
  expect(micros(sum)).toBe(micros(cost.total_cost));
  const query = { $gt: [{ $getField: 'summary.svc.total_cost' }, { $literal: -1 }] };
  const fields = ['id', 'summary'];
  const found = await done('/calls/query', { filter: { call_ids: [id] }, query: { $expr: query }, fields }); // prettier-ignore
  expect(found.calls.length).toBe(cost.total_cost === null ? 0 : 1);
  const stats = await done('/calls/stats', {
    start: '2026-11-01T00:00:00Z',
    end: '2026-12-01T00:00:00Z',
    query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } },
    usage_metrics: [{ metric: 'total_cost' }],
  });
  const buckets = stats.usage_buckets;
  const isKnown = cost.total_cost !== null;
  expect(buckets[0].unknown_calls).toBe(isKnown ? 0 : 1);
  expect(isKnown && micros(buckets[0].sum_total_cost)).toBe(isKnown && micros(cost.total_cost));
  return micros(cost.total_cost);
}

describe('what usage costs', () => {
  it.each(ENTRIES)('%s, of %s', async (_, model, usage, dollars) => {
    expect(await costOf(await byEnd(model, usage))).toBe(dollars);
    expect(await costOf(await byBatch(model, usage))).toBe(dollars);
  });

  it.each(SPANS)('spans of %s, of %s', async (_, model, usage, dollars) => {
    expect(await costOf(await bySpan(model, usage))).toBe(dollars);
  });

  it.each(OBSERVATIONS)('observations: %s, of %s', async (_, model, usage, dollars) => {
    expect(await costOf(await byLangfuse(model, usage))).toBe(dollars);
  });
});

describe('what is no count of tokens', () => {
  const broken = [10.5, -3, 1e20];
  it.each(broken)('is unknown: %d', async (count) => {
    const told = { prompt_tokens: count, completion_tokens: 10 };
    expect(await costOf(await byEnd(MINI, told))).toBeNull();
    const attributes = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': count };
    expect(await costOf(await bySpan(MINI, attributes))).toBeNull();
    const details = { 'llm.token_count.prompt': 100, 'llm.token_count.prompt_details.cache_read': count }; // prettier-ignore
    expect(await costOf(await bySpan(MINI, details))).toBeNull();
    expect(await costOf(await byLangfuse(MINI, { usageDetails: { input: count, output: 10 } }))).toBeNull(); // prettier-ignore
    expect(await costOf(await byLangfuse(MINI, { usageDetails: { input: 10, input_mine: count, output: 10 } }))).toBeNull(); // prettier-ignore
  });

  it.each(['CHARACTERS', 'MILLISECONDS', 'SECONDS', 'IMAGES', 'REQUESTS'])(
    'is in %s',
    async (unit) => {
      const id = await byLangfuse(MINI, { usage: { input: 1000, output: 10, total: 1010, unit } });
      expect(await costOf(id)).toBeNull();
      const { call } = await done('/call/read', { id });
      expect(call.summary.usage[MINI]).toEqual({ requests: 1, unit, input: 1000, output: 10, total: 1010 }); // prettier-ignore
    },
  );
});
