/** Dollars of one answer of scripts/fake-provider.mjs, computed by hand from the providers' price lists. */

/** gpt-4o-mini: 20 input tokens, 4 of them cached, 8 output tokens. */
const GPT = (16 * 0.15 + 4 * 0.075 + 8 * 0.6) / 1e6;
/** claude-sonnet-4-5: 14 input tokens, 2 cache writes, 4 cache reads, 8 output tokens. */
const CLAUDE = (14 * 3 + 2 * 3.75 + 4 * 0.3 + 8 * 15) / 1e6;
/** text-embedding-3-small: 5 tokens. */
const EMBEDDING = (5 * 0.02) / 1e6;

/** gemini-2.5-flash: 20 input tokens, 4 of them cached, 8 output tokens and 3 of thoughts. */
const GEMINI = (16 * 0.3 + 4 * 0.03 + 11 * 2.5) / 1e6;

/** Dollars of all requests of each program in test/fixtures/otlp/programs. */
export const COSTS: Record<string, number> = {
  'vercel-ai-7': 4 * GPT + EMBEDDING,
  mastra: 2 * GPT,
  'claude-code': 2 * CLAUDE,
  'claude-code-logs': 2 * CLAUDE,
  codex: GPT,
  'gemini-cli': GEMINI,
  'logfire-agent': 5 * GPT + CLAUDE,
  'logfire-openai-agents': 2 * GPT,
  'litellm-otel': 2 * GPT + CLAUDE,
  'langsmith-langchain': 2 * GPT,
  'phoenix-otel-grpc': 2 * GPT + EMBEDDING,
  'pydantic-ai': 2 * GPT,
  'openinference-openai': 2 * GPT + EMBEDDING,
  'openllmetry-openai': 2 * GPT + EMBEDDING,
  'langchain-anthropic': 2 * CLAUDE,
  'langfuse-openinference': 2 * GPT,
  'two-agents': 3 * GPT,
  'openai-agents': 2 * GPT,
  'smolagents-tools': (3 * (20 * 0.15 + 8 * 0.6)) / 1e6, // OpenInference reports no cached tokens for it
  'google-adk': 2 * GEMINI,
  'remote-parent': GPT,
  'weave-python-openai': 2 * GPT,
  'ag2-agent': 2 * GPT,
  mlflow: (20 * 0.15 + 8 * 0.6) / 1e6, // its program reports no cached tokens
};

/** The sum of the costs in the answers of calls. */
export function sumCosts(calls: any[], dialect: 'svc' | 'weave' = 'svc'): number {
  const costs = calls.flatMap(({ summary }) => Object.values(summary[dialect]?.costs ?? {}));
  return costs
    .flatMap((cost: any) => Object.entries(cost))
    .reduce(
      (sum, [part, dollars]) => sum + (part.endsWith('_total_cost') ? Number(dollars) : 0),
      0,
    );
}
