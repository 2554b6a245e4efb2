/** Tokens one call spent on one model. Prompt tokens are those that no cache served or stored. */
export interface Tokens {
  prompt_tokens: number;
  completion_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** The entry of a model in `summary.usage`, as some client or provider wrote it. */
export type Usage = Readonly<Record<string, unknown>>;

/** A usage that was read: kinds whose number of tokens it does not say, or not in a way that can be read, are unknown. */
export interface UsageRead {
  tokens: Tokens;
  unknown: ReadonlySet<keyof Tokens>;
}

/** Names of the same count, the first one above 0 counts. A dot leads into an object. */
const PROMPT = ['prompt_tokens', 'input_tokens', 'prompt_token_count'];
const COMPLETION = ['completion_tokens', 'output_tokens', 'candidates_token_count'];
/** Behind the first, cached tokens where the prompt tokens hold them, by OpenAI (two APIs) and Google. */
const CACHE_READ = [
  'cache_read_input_tokens',
  'prompt_tokens_details.cached_tokens',
  'input_tokens_details.cached_tokens',
  'cached_content_token_count',
];
const CACHE_CREATION = ['cache_creation_input_tokens'];

/**
 * Reads the token counts. Cached tokens are subtracted from the prompt tokens unless they are counted apart: in
 * Anthropic's own form, `input_tokens` beside `cache_…_input_tokens` without a `total_tokens` that proves otherwise,
 * and where there are more cached tokens than prompt tokens. Only whole numbers from 0 are counts.
 */
export function readUsage(usage: Usage): UsageRead {
  return { tokens: tokensOf(usage), unknown: unknownIn(usage) };
}

function tokensOf(usage: Usage): Tokens {
  const prompt = first(usage, PROMPT) ?? 0;
  const completion = first(usage, COMPLETION) ?? 0;
  const cacheRead = first(usage, CACHE_READ) ?? 0;
  const cacheCreation = first(usage, CACHE_CREATION) ?? 0;
  const isAnthropic =
    (first(usage, ['cache_read_input_tokens']) || cacheCreation) &&
    !first(usage, ['prompt_tokens']) &&
    first(usage, ['total_tokens']) !== prompt + completion;
  const cached = cacheRead + cacheCreation;
  return {
    prompt_tokens: isAnthropic || cached > prompt ? prompt : prompt - cached,
    completion_tokens: completion,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheCreation,
  };
}

/**
 * A kind is unknown when one of its names holds something that is no count; prompt tokens also when those of a cache,
 * which may be among them, are. An entry with neither prompt nor completion tokens says nothing of either.
 */
function unknownIn(usage: Usage): Set<keyof Tokens> {
  const unknown = new Set<keyof Tokens>();
  if (isBroken(usage, PROMPT)) unknown.add('prompt_tokens');
  if (isBroken(usage, COMPLETION)) unknown.add('completion_tokens');
  if (isBroken(usage, CACHE_READ)) unknown.add('cache_read_input_tokens').add('prompt_tokens');
  if (isBroken(usage, CACHE_CREATION))
    unknown.add('cache_creation_input_tokens').add('prompt_tokens');
  if (first(usage, [...PROMPT, ...COMPLETION]) === undefined)
    unknown.add('prompt_tokens').add('completion_tokens');
  return unknown;
}

const isBroken = (usage: Usage, names: readonly string[]) =>
  valuesOf(usage, names).some((value) => (value ?? null) !== null && !isCount(value));

/** How many requests the counts add up, null when the entry does not say. */
export const requestsOf = (usage: Usage) => first(usage, ['requests']) ?? null;

function first(usage: Usage, names: readonly string[]): number | undefined {
  const counts = valuesOf(usage, names).filter(isCount);
  return counts.find((count) => count > 0) ?? counts[0];
}

const valuesOf = (usage: Usage, names: readonly string[]) =>
  names.map((name) => at(usage, name.split('.')));

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
