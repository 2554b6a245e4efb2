/** Tokens one call spent on one model. Prompt tokens are those that no cache served or stored. */
export interface Tokens {
  prompt_tokens: number;
  completion_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** The entry of a model in `summary.usage`, as some client or provider wrote it. */
export type Usage = Readonly<Record<string, unknown>>;

/** Names of the same count, the first one present counts. A dot leads into an object. */
const PROMPT = ['prompt_tokens', 'input_tokens', 'prompt_token_count'];
const COMPLETION = ['completion_tokens', 'output_tokens', 'candidates_token_count'];
const CACHE_READ = ['cache_read_input_tokens'];
const CACHE_CREATION = ['cache_creation_input_tokens'];
/** Cached tokens where the prompt tokens hold them, by OpenAI (two APIs) and Google. */
const CACHED_WITHIN = [
  'prompt_tokens_details.cached_tokens',
  'input_tokens_details.cached_tokens',
  'cached_content_token_count',
];

/**
 * Reads the token counts. Cached tokens are taken out of the prompt tokens, unless they are not among them: in Anthropic's
 * own form, `input_tokens` beside `cache_…_input_tokens` without a `total_tokens` that proves otherwise, and where there
 * are more cached tokens than prompt tokens. What is no whole number from 0 is no count.
 */
export function tokensOf(usage: Usage): Tokens {
  const prompt = first(usage, PROMPT) ?? 0;
  const completion = first(usage, COMPLETION) ?? 0;
  const read = first(usage, CACHE_READ);
  const created = first(usage, CACHE_CREATION);
  const cacheRead = read ?? first(usage, CACHED_WITHIN) ?? 0;
  const cacheCreation = created ?? 0;
  const isAnthropic =
    (read !== undefined || created !== undefined) &&
    first(usage, ['prompt_tokens']) === undefined &&
    first(usage, ['total_tokens']) !== prompt + completion;
  const cached = cacheRead + cacheCreation;
  return {
    prompt_tokens: isAnthropic || cached > prompt ? prompt : prompt - cached,
    completion_tokens: completion,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheCreation,
  };
}

/** How many requests the counts add up, null when the entry does not say. */
export const requestsOf = (usage: Usage) => first(usage, ['requests']) ?? null;

function first(usage: Usage, names: readonly string[]): number | undefined {
  return names.map((name) => at(usage, name.split('.'))).find(isCount);
}

const at = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>(
    (found, name) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, name)
        ? (found as Usage)[name]
        : undefined,
    value,
  );

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
