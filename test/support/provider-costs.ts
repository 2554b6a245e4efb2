/** What one answer of scripts/fake-provider.mjs costs by the price lists of the providers, in dollars: worked out by hand. */

/** gpt-4o-mini: 20 tokens of the prompt, 4 of them cached; 8 of the answer. */
const GPT = (16 * 0.15 + 4 * 0.075 + 8 * 0.6) / 1e6;
/** claude-sonnet-4-5: 14 tokens, 2 to the cache, 4 from it; 8 of the answer. */
const CLAUDE = (14 * 3 + 2 * 3.75 + 4 * 0.3 + 8 * 15) / 1e6;
/** text-embedding-3-small: 5 tokens. */
const EMBEDDING = (5 * 0.02) / 1e6;

/** What the requests of programs in test/fixtures/otlp/programs cost. */
export const COSTS: Record<string, number> = {
  'vercel-ai-7': 4 * GPT + EMBEDDING,
  mastra: 2 * GPT,
  'claude-code': 2 * CLAUDE,
  'logfire-agent': 5 * GPT + CLAUDE,
  'logfire-openai-agents': 2 * GPT,
  'litellm-otel': 2 * GPT + CLAUDE,
  'langsmith-langchain': 2 * GPT,
  'phoenix-otel-grpc': 2 * GPT + EMBEDDING,
  'pydantic-ai': 2 * GPT,
  'openinference-openai': 2 * GPT + EMBEDDING,
  'openllmetry-openai': 2 * GPT + EMBEDDING,
  mlflow: (20 * 0.15 + 8 * 0.6) / 1e6, // its program tells of no cached tokens
};

/** The sum of the costs that calls were answered with. */
export function sumCosts(calls: any[], dialect: 'svc' | 'weave' = 'svc'): number {
  const costs = calls.flatMap(({ summary }) => Object.values(summary[dialect]?.costs ?? {}));
  return costs
    .flatMap((cost: any) => Object.entries(cost))
    .reduce(
      (sum, [part, dollars]) => sum + (part.endsWith('_total_cost') ? Number(dollars) : 0),
      0,
    );
}
