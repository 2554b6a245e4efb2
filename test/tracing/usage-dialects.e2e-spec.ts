import { randomUUID } from 'node:crypto';
import { basic, send, useApp } from '../support/app.js';
import { until } from '../support/until.js';

const app = useApp();
const project_id = 'acme/dialects';

/*
 * Prices of the providers in USD for a million tokens (price lists of 2026):
 * - gemini-2.5-flash: input 0.30, cache read 0.03, output and thoughts 2.50
 * - grok-4: input 3, cache read 0.75, output and reasoning 15
 * - claude-sonnet-4-5: input 3, cache read 0.30, cache write 3.75, output 15
 * - deepseek-chat: input 0.27, cache read 0.07, output 1.10
 * - gpt-4o-mini: input 0.15, cache read 0.075, output 0.60
 *
 * Expected costs in millionths of a dollar:
 * - THOUGHTS: 820 × 0.30 + (40 + 310) × 2.50 = 1121
 * - GROK: 820 × 3 + (40 + 310) × 15 = 7710
 * - BEDROCK: 5000 × 3 + 1000 × 0.30 + 100 × 3.75 + 20 × 15 = 15975
 * - DEEPSEEK: (1000 − 700) × 0.27 + 700 × 0.07 + 10 × 1.10 = 141
 * - TOOLS: (12 − 4 + 65) × 0.30 + 4 × 0.03 + (71 + 89) × 2.50 = 422.02
 * - MINI: (100 − 40) × 0.15 + 40 × 0.075 + (10 of which 4 reasoning) × 0.60 = 18
 */
const [FLASH, GROK, SONNET, DEEPSEEK, MINI] = [
  'gemini-2.5-flash',
  'grok-4',
  'claude-sonnet-4-5-20250929',
  'deepseek-chat',
  'gpt-4o-mini',
] as [string, string, string, string, string];

type Case = [what: string, model: string, usage: object, dollars: number];

/** Forms of `summary.usage`, as SDKs and the gateway send them. */
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
  ['providers of the AI SDK', FLASH, { inputTokens: { total: 820, noCache: 820, cacheRead: 0 }, outputTokens: { total: 350, text: 40, reasoning: 310 } }, 1121],
  ['Ollama itself', MINI, { prompt_eval_count: 100, eval_count: 10 }, 21],
]; // prettier-ignore

/** Forms of usage in the attributes of spans. */
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
  ['names of Google behind the prefix', FLASH, { 'gen_ai.usage.input_tokens': 12, 'gen_ai.usage.output_tokens': 71, 'gen_ai.usage.cached_content_token_count': 4, 'gen_ai.usage.tool_use_prompt_token_count': 65, 'gen_ai.usage.thoughts_token_count': 89, 'gen_ai.usage.total_tokens': 237 }, 422.02],
  ['names of DeepSeek behind the prefix', DEEPSEEK, { 'llm.usage.prompt_tokens': 1000, 'llm.usage.completion_tokens': 10, 'gen_ai.usage.prompt_cache_hit_tokens': 700 }, 141],
  ['details in an attribute', MINI, { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 10, 'gen_ai.usage.input_token_details': '{"cache_read":40}', 'gen_ai.usage.output_token_details': '{"reasoning":4}' }, 18],
  ['OpenInference for JavaScript', MINI, { 'llm.token_count.prompt': 100, 'llm.token_count.prompt_details.cache_input': 40, 'llm.token_count.completion': 10 }, 18],
  ['Google ADK before 2.3', FLASH, { 'gen_ai.usage.input_tokens': 820, 'gen_ai.usage.output_tokens': 40, 'gen_ai.usage.experimental.reasoning_tokens': 310 }, 1121],
  ['Google ADK in its response alone', FLASH, { 'gen_ai.usage.input_tokens': 820, 'gen_ai.usage.output_tokens': 40, 'gcp.vertex.agent.llm_response': JSON.stringify({ usage_metadata: { prompt_token_count: 820, candidates_token_count: 40, thoughts_token_count: 310, total_token_count: 1170 } }) }, 1121],
  ['Vercel 5 with Anthropic', SONNET, { 'ai.usage.inputTokens': 5000, 'ai.usage.outputTokens': 20, 'ai.usage.totalTokens': 5020, 'ai.usage.cachedInputTokens': 1000, 'ai.response.providerMetadata': JSON.stringify({ anthropic: { usage: { input_tokens: 5000, output_tokens: 1, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100 } } }) }, 15_975],
  ['Vercel 4 with OpenAI', MINI, { 'ai.usage.promptTokens': 100, 'ai.usage.completionTokens': 10, 'ai.response.providerMetadata': JSON.stringify({ openai: { cachedPromptTokens: 40, reasoningTokens: 4 } }) }, 18],
  ['Vercel 5 with Bedrock', SONNET, { 'ai.usage.inputTokens': 5000, 'ai.usage.outputTokens': 20, 'ai.usage.totalTokens': 6120, 'ai.usage.cachedInputTokens': 1000, 'ai.response.providerMetadata': JSON.stringify({ bedrock: { usage: { cacheWriteInputTokens: 100 } } }) }, 15_975],
]; // prettier-ignore

/** Forms of usage in Langfuse's observations. */
const OBSERVATIONS: Case[] = [
  ['details beside the output', FLASH, { usageDetails: { input: 820, output: 40, output_reasoning: 310, total: 1170 } }, 1121],
  ['details of gross counts', MINI, { usageDetails: { input: 100, input_cached_tokens: 40, output: 10, output_reasoning_tokens: 4, total: 110 } }, 18],
  ['a detail of its own without a sum', MINI, { usageDetails: { input: 100, output_mine: 10 } }, 21],
  ['the older usage', MINI, { usage: { promptTokens: 100, completionTokens: 10, totalTokens: 110 } }, 21],
  ['Google for JavaScript', FLASH, { usageDetails: { promptTokenCount: 820, candidatesTokenCount: 40, thoughtsTokenCount: 310, totalTokenCount: 1170 } }, 1121],
  ['Anthropic', SONNET, { usageDetails: { input: 5000, output: 20, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100 } }, 15_975],
]; // prettier-ignore

/*
 * Prices of kinds of tokens with a price of their own, in USD for a million tokens:
 * - gemini-2.5-flash: audio 1, audio cache read 0.10
 * - gpt-realtime, text: input 4, cached 0.40, output 16
 * - gpt-realtime, audio: input 32, cached 0.40, output 64; images 5
 * - claude-sonnet-4-5: cache write for five minutes 3.75, for an hour 6
 * - us.anthropic… on Bedrock, 10 % more: 3.30, 0.33, 4.125, 16.50, and for an hour 2 × 3.30
 * - gpt-image-1.5: input 5, images 8; output 10, images 32
 * - sonar-deep-research: input 2, output 8, reasoning 3, citations 2
 *
 * Expected costs in millionths of a dollar:
 * - AUDIO: (1000 − 200) × 0.30 + 200 × 1 + 10 × 2.50 = 465
 * - CACHED has 300 cached tokens, 50 of them audio, and 200 audio tokens in all:
 * - (1000 − 300 − 150) × 0.30 + 150 × 1 + 250 × 0.03 + 50 × 0.10 + 10 × 2.50 = 352.5
 * - REALTIME has 40 cached tokens, 10 of them audio, and 60 text and 50 audio tokens in all:
 * - (110 − 40 − 40) × 4 + 40 × 32 + 30 × 0.40 + 10 × 0.40 + 20 × 16 + 80 × 64 = 6856
 * - HOUR: 100 × 3 + 50 × 0.30 + (500 − 400) × 3.75 + 400 × 6 + 10 × 15 = 3240
 * - BEDROCK: 100 × 3.30 + 50 × 0.33 + (500 − 400) × 4.125 + 400 × 6.60 + 10 × 16.50 = 3564
 * - IMAGE: 20 × 5 + 300 × 8 + 1000 × 32 = 34500
 * - SONAR: 33 × 2 + 11395 × 8 + 193947 × 3 + 16330 × 2 = 705727
 */
const [REALTIME, US_SONNET, IMAGE, SONAR] = [
  'gpt-realtime',
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'gpt-image-1.5',
  'sonar-deep-research',
] as [string, string, string, string];
const cacheCreation = { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 };
const anthropic = { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 50, cache_creation_input_tokens: 500 }; // prettier-ignore
const realtime = { input_tokens: 110, output_tokens: 100, total_tokens: 210, input_token_details: { text_tokens: 60, audio_tokens: 50, cached_tokens: 40, cached_tokens_details: { text_tokens: 30, audio_tokens: 10 } }, output_token_details: { text_tokens: 20, audio_tokens: 80 } }; // prettier-ignore

const KINDS: Case[] = [
  ['audio of Google', FLASH, { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 800 }, { modality: 'AUDIO', tokenCount: 200 }] }, 465],
  ['cached audio of Google', FLASH, { prompt_token_count: 1000, candidates_token_count: 10, total_token_count: 1010, cached_content_token_count: 300, prompt_tokens_details: [{ modality: 'AUDIO', token_count: 200 }], cache_tokens_details: [{ modality: 'AUDIO', token_count: 50 }] }, 352.5],
  ['audio of OpenAI', REALTIME, realtime, 6856],
  ['Anthropic for an hour', SONNET, { ...anthropic, cache_creation: cacheCreation }, 3240],
  ['LangChain for an hour', SONNET, { input_tokens: 650, output_tokens: 10, total_tokens: 660, input_token_details: { cache_read: 50, cache_creation: 0, ...cacheCreation } }, 3240],
  ['LiteLLM for an hour', SONNET, { prompt_tokens: 650, completion_tokens: 10, total_tokens: 660, prompt_tokens_details: { cached_tokens: 50, cache_creation_tokens: 500, cache_creation_token_details: cacheCreation } }, 3240],
  ['Converse for an hour', US_SONNET, { inputTokens: 100, outputTokens: 10, totalTokens: 660, cacheReadInputTokens: 50, cacheWriteInputTokens: 500, cacheDetails: [{ ttl: '5m', inputTokens: 100 }, { ttl: '1h', inputTokens: 400 }] }, 3564],
  ['audio in small letters', FLASH, { promptTokenCount: 1000, candidatesTokenCount: 10, promptTokensDetails: [{ modality: 'audio', tokenCount: 200 }] }, 465],
  ['Bedrock for an hour', US_SONNET, { ...anthropic, cache_creation: cacheCreation }, 3564],
  ['images', IMAGE, { input_tokens: 320, output_tokens: 1000, total_tokens: 1320, input_tokens_details: { text_tokens: 20, image_tokens: 300 }, output_tokens_details: { image_tokens: 1000 } }, 34_500],
  ['Perplexity', SONAR, { prompt_tokens: 33, completion_tokens: 11_395, total_tokens: 11_428, citation_tokens: 16_330, reasoning_tokens: 193_947 }, 705_727],
]; // prettier-ignore

const KINDS_OF_SPANS: Case[] = [
  ['OpenInference', FLASH, { 'llm.token_count.prompt': 1000, 'llm.token_count.prompt_details.audio': 200, 'llm.token_count.completion': 10, 'llm.token_count.total': 1010 }, 465],
  ['Logfire', REALTIME, { 'gen_ai.usage.raw': JSON.stringify(realtime) }, 6856],
  ['Langfuse', SONNET, { 'langfuse.observation.usage_details': JSON.stringify({ input: 100, output: 10, input_cache_read: 50, input_cache_creation: 100, input_cache_creation_1h: 400 }) }, 3240],
  ['Anthropic behind the prefix', SONNET, { 'gen_ai.usage.input_tokens': 650, 'gen_ai.usage.output_tokens': 10, 'gen_ai.usage.cache_read.input_tokens': 50, 'gen_ai.usage.cache_creation.input_tokens': 500, 'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens': 400 }, 3240],
]; // prettier-ignore

const KINDS_OF_OBSERVATIONS: Case[] = [
  ['for an hour', SONNET, { usageDetails: { input: 100, output: 10, input_cache_read: 50, input_cache_creation: 100, input_cache_creation_1h: 400, total: 660 } }, 3240],
  ['for five minutes and an hour', SONNET, { usageDetails: { input: 100, output: 10, input_cache_read: 50, input_cache_creation_5m: 100, input_cache_creation_1h: 400 } }, 3240],
  ['of LangChain', SONNET, { usageDetails: { input: 100, output: 10, input_cache_read: 50, input_cache_creation: 0, input_ephemeral_5m_input_tokens: 100, input_ephemeral_1h_input_tokens: 400, total: 660 } }, 3240],
  ['audio', FLASH, { usageDetails: { input: 800, input_audio_tokens: 200, output: 10, total: 1010 } }, 465],
]; // prettier-ignore

/** Price of a million input tokens in USD, by name of the model. */
const NAMES: [string, number][] = [
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3.3],
  ['anthropic.claude-3-5-sonnet-20241022-v2:0', 3],
  ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 3],
  ['apac.anthropic.claude-sonnet-4-20250514-v1:0', 3],
  ['bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3.3],
  ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0', 0.06],
  ['us.amazon.nova-lite-v1:0', 0.06],
  ['eu.amazon.nova-pro-v1:0', 0.8],
  ['models/gemini-2.5-flash', 0.3],
  ['publishers/google/models/gemini-2.5-flash', 0.3],
  ['text-embedding-3-small', 0.02],
  ['gpt-4o-mini', 0.15],
  ['openai/gpt-4o-mini', 0.15],
  ['openai:gpt-4o-mini', 0.15],
  ['google-gla:gemini-2.5-flash', 0.3],
  ['anthropic:claude-sonnet-4-5', 3],
  ['bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3.3],
  ['azure_ai/gpt-4o-mini', 0.15],
  ['vercel/openai/gpt-4o-mini', 0.15],
];

let traces = 0;
/** Stores a call in one of the formats, and returns its id. */
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

/** Reads the cost of a call through every operation that returns costs, and expects that they agree. */
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

describe('kinds of tokens with a price of their own', () => {
  it.each(KINDS)('%s, of %s', async (_, model, usage, dollars) => {
    expect(await costOf(await byEnd(model, usage))).toBe(dollars);
    expect(await costOf(await byBatch(model, usage))).toBe(dollars);
  });

  it.each(KINDS_OF_SPANS)('spans of %s, of %s', async (_, model, usage, dollars) => {
    expect(await costOf(await bySpan(model, usage))).toBe(dollars);
  });

  it.each(KINDS_OF_OBSERVATIONS)('observations: %s, of %s', async (_, model, usage, dollars) => {
    expect(await costOf(await byLangfuse(model, usage))).toBe(dollars);
  });

  it('have terms of their own', async () => {
    const id = await byEnd(REALTIME, realtime);
    const { calls } = await done('/cost/explain', { call_ids: [id] });
    const terms = calls[0].models[0].terms.map(({ kind, tokens, unit_price }: any) => [kind, tokens, unit_price]); // prettier-ignore
    expect(terms).toEqual([
      ['prompt_tokens', 30, 0.000_004],
      ['audio_input_tokens', 40, 0.000_032],
      ['completion_tokens', 20, 0.000_016],
      ['audio_output_tokens', 80, 0.000_064],
      ['cache_read_input_tokens', 30, 0.000_000_4],
      ['cache_read_audio_tokens', 10, 0.000_000_4],
    ]);
  });

  it('cost as much as their kind by a record of the project', async () => {
    const model = 'my-realtime';
    const costs = { [model]: { prompt_token_cost: 0.000_001, completion_token_cost: 0.000_002, effective_date: '2026-01-01T00:00:00Z' } }; // prettier-ignore
    await done('/cost/create', { costs });
    expect(await costOf(await byEnd(model, realtime))).toBe(110 + 200);
  });

  it('count once, in stored statistics and in the totals of a trace too', async () => {
    const project = 'acme/kinds';
    const trace_id = randomUUID();
    const call = (id: string, parent_id: string | null, more: object) => ({
      ...{ project_id: project, id, parent_id, trace_id, op_name: 'op', inputs: {}, output: {}, attributes: {} },
      ...times,
      summary: more,
    }); // prettier-ignore
    const batch = [
      call('root', null, {}),
      call('sum', 'root', { usage: { [REALTIME]: { ...realtime, requests: 1 } } }),
      call('leaf', 'sum', { usage: { [REALTIME]: { ...realtime, requests: 1 } } }),
      call('other', 'root', { usage: { [REALTIME]: { ...realtime, requests: 1 } } }),
    ];
    ok(await app.post('/v2/acme/kinds/calls/complete', { batch }));
    const read = async (more: object = {}) => {
      const window = { start: '2026-11-01T00:00:00Z', end: '2026-12-01T00:00:00Z' };
      const usage_metrics = [{ metric: 'total_cost', ...more }, { metric: 'output_cost' }];
      const { body } = await app.post('/calls/stats', { project_id: project, ...window, granularity: 86_400, usage_metrics }); // prettier-ignore
      return body.usage_buckets[0];
    };
    const sums = { sum_total_cost: 0.013_712, sum_output_cost: 0.010_88 };
    expect(await read()).toMatchObject(sums);
    const stored = () => app.query('SELECT details FROM call_slot_models WHERE project_id = $1', [project]); // prettier-ignore
    await until(async () => (await stored())[0]?.details);
    expect(await read()).toMatchObject(sums);
    expect(await read({ aggregations: ['max'] })).toMatchObject({ max_total_cost: 0.006_856 });
    const { body } = await app.post('/calls/query', { project_id: project, limit: 10, include_trace_totals: true }); // prettier-ignore
    const root = body.calls.find(({ id }: any) => id === 'root');
    const totals = Object.values<any>(root.summary.svc.trace_costs);
    expect(micros(totals[0].total_cost)).toBe(13_712);
    const { body: usage } = await app.post('/calls/usage', { project_id: project, call_ids: ['root'], include_costs: true }); // prettier-ignore
    expect(micros(usage.call_usage.root[REALTIME].completion_tokens_total_cost)).toBe(10_880);
  });
});

it.each(NAMES)('knows what %s costs', async (model, dollars) => {
  expect(await costOf(await byEnd(model, { prompt_tokens: 100_000 }))).toBe(Math.round(dollars * 1e5)); // prettier-ignore
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
