/** Tokens that one call spent on one model. Prompt tokens exclude tokens that a cache served or stored. */
export interface Tokens {
  prompt_tokens: number;
  completion_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** Kinds of tokens. In sets of unknown kinds, each kind is the bit at its index. */
export const TOKEN_KINDS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const satisfies readonly (keyof Tokens)[];
export const [PROMPT, ANSWER, READ, CREATED] = [1, 2, 4, 8];

export const kindsIn = (bits: number): ReadonlySet<keyof Tokens> =>
  new Set(TOKEN_KINDS.filter((_, i) => bits & (1 << i)));

/** Returns all tokens of the prompt, cached or not. */
export const inputTokens = (tokens: Tokens): number =>
  tokens.prompt_tokens + tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens;

/**
 * Tokens that may have a price of their own, each with the kind that includes them: audio in a prompt is part of the
 * prompt tokens. Stored lists have this order, so append new names at the end.
 */
export const DETAILS = [
  ['audio_input_tokens', 'prompt_tokens'],
  ['image_input_tokens', 'prompt_tokens'],
  ['video_input_tokens', 'prompt_tokens'],
  ['audio_output_tokens', 'completion_tokens'],
  ['image_output_tokens', 'completion_tokens'],
  ['video_output_tokens', 'completion_tokens'],
  ['reasoning_tokens', 'completion_tokens'],
  ['citation_tokens', 'completion_tokens'],
  ['cache_read_audio_tokens', 'cache_read_input_tokens'],
  ['cache_read_image_tokens', 'cache_read_input_tokens'],
  ['cache_creation_1h_input_tokens', 'cache_creation_input_tokens'],
] as const satisfies readonly (readonly [string, keyof Tokens])[];
export type DetailName = (typeof DETAILS)[number][0];

/** Counts of `DETAILS`, in their order; null when all are 0. Those of one kind never exceed the tokens of that kind. */
export type TokenDetails = readonly number[] | null;

/** Subtracts the details of `below` from `own`, and limits the rest to `tokens`. */
export function detailsLeft(
  own: TokenDetails,
  below: TokenDetails | undefined,
  tokens: Tokens,
): TokenDetails {
  if (!own) return null;
  const left = { ...tokens };
  const details = DETAILS.map(([, kind], i) => {
    const count = Math.min(Math.max((own[i] ?? 0) - (below?.[i] ?? 0), 0), left[kind]);
    left[kind] -= count;
    return count;
  });
  return details.some((count) => count > 0) ? details : null;
}

export const addDetails = (a: TokenDetails, b: TokenDetails): TokenDetails =>
  a && b ? DETAILS.map((_, i) => (a[i] ?? 0) + (b[i] ?? 0)) : (a ?? b);
