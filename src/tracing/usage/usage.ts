import {
  isCount,
  type CountSpelling,
  spellings,
  type UsageEntry,
  UsageCounts,
} from './usage-counts.js';
import type { CountName } from './dialects.js';
import { placeTokens, type TokenShare } from './token-placement.js';
import {
  ANSWER,
  CREATED,
  DETAILS,
  type DetailName,
  type TokenDetails,
  detailsLeft,
  inputTokens,
  PROMPT,
  READ,
  type Tokens,
} from './tokens.js';

/** The tokens of an entry, and a bit for each kind whose number is missing or unreadable. */
export interface EntryTokens {
  tokens: Tokens;
  details: TokenDetails;
  unknown: number;
}

/**
 * Reads an entry. Only integers from 0 are counts. `isGross` (see `countsGross`): the client includes cached tokens in
 * Anthropic's input tokens, also when no total proves it.
 */
export function entryTokens(counts: UsageCounts, isGross: boolean): EntryTokens {
  return { ...countTokens(counts, isGross), unknown: unknownIn(counts) };
}

const LANGFUSE = {
  prompt: spellings('prompt', 'input'),
  completion: spellings('completion', 'output'),
};
const CHAT = {
  prompt: spellings('prompt', 'prompt_tokens'),
  completion: spellings('completion', 'completion_tokens'),
};
const RESPONSES = {
  prompt: spellings('prompt', 'input_tokens'),
  completion: spellings('completion', 'output_tokens'),
};
const COMBINED_SUM: Partial<Record<CountName, readonly CountSpelling[]>> = {
  prompt: [...CHAT.prompt, ...RESPONSES.prompt],
  completion: [...CHAT.completion, ...RESPONSES.completion],
  cache_read: spellings('cache_read', 'prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens'), // prettier-ignore
  cache_write: spellings('cache_write', 'prompt_tokens_details.cache_write_tokens', 'input_tokens_details.cache_write_tokens'), // prettier-ignore
  reasoning: spellings('reasoning', 'completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens'), // prettier-ignore
};
/** Anthropic's names, which other clients adopted. Next to Anthropic's own input tokens these counts are apart. */
const ANTHROPIC: Partial<Record<CountName, readonly CountSpelling[]>> = {
  cache_read: spellings('cache_read', 'cache_read_input_tokens'),
  cache_write: spellings('cache_write', 'cache_creation_input_tokens'),
};
const NOT_ANTHROPIC = [...CHAT.prompt, ...COMBINED_SUM.cache_read!, ...COMBINED_SUM.cache_write!];

/** Names of Langfuse's details that are not part of its `input` and `output`. */
const LANGFUSE_DETAIL = /^(input|output|cache_read|cache_creation)_(?!tokens$)[^.[]*$/;

const TOTAL = spellings('total');
const REQUESTS = spellings('requests');

export const requestsIn = (counts: UsageCounts): number | undefined =>
  counts.first(REQUESTS)?.amount;

/**
 * Returns true for a sum of chat completions and responses, as SDKs compute it for a parent. Its total is the sum of
 * both.
 */
function isCombinedSum(counts: UsageCounts): boolean {
  const all = [CHAT.prompt, RESPONSES.prompt, CHAT.completion, RESPONSES.completion];
  const [chat, responses, ...answers] = all.map((names) => counts.amount(names)) as [
    number,
    number,
  ];
  if (chat === 0 || responses === 0) return false;
  const sum = answers.reduce((sum, one) => sum + one, chat + responses);
  return counts.first(TOTAL)?.amount === sum;
}

/** Returns true for Langfuse's usage, in which prompt and completion exclude their details. */
const isOfLangfuse = (counts: UsageCounts): boolean =>
  [LANGFUSE.prompt, LANGFUSE.completion].some((names) => counts.first(names));

class EntryReader {
  private readonly isOfLangfuse: boolean;
  private readonly isOfBoth: boolean;

  constructor(
    readonly counts: UsageCounts,
    private readonly isGross: boolean,
  ) {
    this.isOfLangfuse = isOfLangfuse(counts);
    this.isOfBoth = !this.isOfLangfuse && isCombinedSum(counts);
  }

  amount(name: CountName): number {
    const both = this.isOfBoth && COMBINED_SUM[name];
    const sum = both ? both.reduce((sum, one) => sum + this.counts.amount([one]), 0) : 0;
    return sum || (this.find(name)?.amount ?? 0);
  }

  isApart(name: CountName): boolean {
    const spelling = this.find(name)?.spelling;
    if (!spelling) return false;
    if (this.isOfLangfuse) return LANGFUSE_DETAIL.test(spelling.name);
    return ANTHROPIC[name]?.includes(spelling) ? this.isCachedApart : spelling.isApart;
  }

  private get isCachedApart(): boolean {
    return !this.isGross && this.counts.amount(NOT_ANTHROPIC) === 0;
  }

  /** Returns details that only Langfuse has. */
  get others(): TokenShare[] {
    if (!this.isOfLangfuse) return [];
    return (['input', 'output'] as const).map((side) => ({
      side,
      count: this.counts.others[side].filter(isCount).reduce((sum, one) => sum + one, 0),
      isApart: true,
    }));
  }

  /**
   * Returns possible numbers of tokens stored in caches, the likelier first. Anthropic's periods are part of the sum,
   * Langfuse's are not.
   */
  get written(): number[] {
    const sum = this.amount('cache_write');
    const periods = this.amount('cache_write_5m') + this.amount('cache_write_1h');
    if (periods === 0 || sum === 0) return [sum + periods];
    if (periods > sum) return [sum + periods];
    return this.isOfLangfuse ? [sum + periods, sum] : [sum, sum + periods];
  }

  private find(name: CountName): ReturnType<UsageCounts['first']> {
    if (!this.counts.has(name)) return undefined;
    if (this.isOfLangfuse && (name === 'prompt' || name === 'completion'))
      return this.counts.first(LANGFUSE[name]);
    const anthropic = ANTHROPIC[name] && this.counts.first(ANTHROPIC[name]);
    return anthropic && anthropic.amount > 0 ? anthropic : this.counts.first(spellings(name));
  }
}

const NO_TOKENS: Tokens = {
  prompt_tokens: 0,
  completion_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};
const MEDIA = {
  input: ['audio_input', 'image_input', 'video_input'],
  output: ['audio_output', 'image_output', 'video_output'],
} as const;
const WRITES = ['cache_write', 'cache_write_5m', 'cache_write_1h'] as const;

function countTokens(counts: UsageCounts, isGross: boolean): Omit<EntryTokens, 'unknown'> {
  if (counts.hasOtherUnit) return { tokens: NO_TOKENS, details: null };
  const entry = new EntryReader(counts, isGross);
  const [prompt, completion] = [entry.amount('prompt'), entry.amount('completion')];
  if (!counts.hasMore)
    return {
      tokens: { ...NO_TOKENS, prompt_tokens: prompt, completion_tokens: completion },
      details: null,
    };
  const total = counts.first(TOTAL)?.amount;
  const share = (side: TokenShare['side'], ...names: CountName[]): TokenShare => ({
    side,
    count: names.reduce((sum, name) => sum + entry.amount(name), 0),
    isApart: names.some((name) => entry.isApart(name)),
  });
  const read = entry.amount('cache_read');
  const cached = (count: number): TokenShare => ({
    side: 'input',
    count,
    // a client that counts one of them apart does so with both
    isApart: (['cache_read', ...WRITES] as const).some((name) => entry.isApart(name)),
    isCached: true,
  });
  const rest = [
    cached(read),
    share('output', 'reasoning'),
    share('output', 'citation'),
    share('input', 'tool_use'),
    share('input', ...MEDIA.input),
    share('output', ...MEDIA.output),
    ...entry.others,
  ];
  const readings = entry.written.map((written) => ({
    written,
    ...placeTokens({ prompt, completion, total }, [cached(written), ...rest]),
  }));
  const { written, input, output } = readings.find(({ isSum }) => isSum) ?? readings[0]!;
  const tokens = {
    prompt_tokens: prompt + input - read - written,
    completion_tokens: completion + output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  };
  return { tokens, details: detailsOf(entry, tokens) };
}

/** The count of each of `DETAILS`. Audio that a cache served is subtracted from the prompt's audio. */
const DETAIL_COUNTS: Record<DetailName, CountName> = {
  audio_input_tokens: 'audio_input',
  image_input_tokens: 'image_input',
  video_input_tokens: 'video_input',
  audio_output_tokens: 'audio_output',
  image_output_tokens: 'image_output',
  video_output_tokens: 'video_output',
  reasoning_tokens: 'reasoning',
  citation_tokens: 'citation',
  cache_read_audio_tokens: 'audio_cache_read',
  cache_read_image_tokens: 'image_cache_read',
  cache_creation_1h_input_tokens: 'cache_write_1h',
};
const CACHED_DETAIL_COUNTS: Partial<Record<DetailName, CountName>> = {
  audio_input_tokens: 'audio_cache_read',
  image_input_tokens: 'image_cache_read',
};

function detailsOf(entry: EntryReader, tokens: Tokens): TokenDetails {
  const told = DETAILS.map(([name]) => entry.amount(DETAIL_COUNTS[name]));
  const cached = DETAILS.map(([name]) =>
    CACHED_DETAIL_COUNTS[name] ? entry.amount(CACHED_DETAIL_COUNTS[name]) : 0,
  );
  return detailsLeft(told, cached, tokens);
}

/**
 * Returns the unknown kinds. A kind is unknown when one of its names has a value that is no count. Prompt tokens are
 * also unknown when cached tokens are, which may be part of them. An entry without prompt and completion tokens leaves
 * both unknown.
 */
function unknownIn(counts: UsageCounts): number {
  if (counts.hasOtherUnit) return PROMPT | ANSWER;
  let unknown = 0;
  const [prompt, completion] = [spellings('prompt'), spellings('completion')];
  if (counts.broken(prompt).length > 0) unknown |= PROMPT;
  if (counts.broken(completion).length > 0) unknown |= ANSWER;
  if (![prompt, completion, spellings('tool_use')].some((names) => counts.first(names)))
    unknown |= PROMPT | ANSWER;
  if (!counts.hasMore) return unknown;
  for (const [names, bits] of [
    [['tool_use', ...MEDIA.input], PROMPT],
    [['reasoning', 'citation', ...MEDIA.output], ANSWER],
    [['cache_read', 'audio_cache_read', 'image_cache_read'], READ | PROMPT],
    [WRITES, CREATED | PROMPT],
  ] as const)
    if (names.some((name) => counts.has(name) && counts.broken(spellings(name)).length > 0))
      unknown |= bits;
  if (isOfLangfuse(counts)) {
    if (!counts.others.input.every(isCount)) unknown |= PROMPT;
    if (!counts.others.output.every(isCount)) unknown |= ANSWER;
  }
  return unknown;
}

/** Members that `reportedUsage` returns, and the counts that each repeats when they are reported. */
export const REPORTED: readonly (readonly [string, readonly CountName[]])[] = [
  ['prompt_tokens', ['prompt', 'tool_use']],
  ['completion_tokens', ['completion']],
  ['total_tokens', ['total']],
  ['cache_read_input_tokens', ['cache_read']],
  ['cache_creation_input_tokens', [...WRITES]],
  ...Object.entries(DETAIL_COUNTS).map(([member, count]) => [member, [count]] as const),
];

const REPORTED_SPELLINGS = new Map(
  REPORTED.map(([member, names]) => [member, names.flatMap((name) => spellings(name))]),
);

/**
 * Converts the usage of a span or an observation, in any dialect, into an entry. Prompt tokens include cached tokens;
 * completion tokens include everything that the model wrote. Unreadable values are repeated, so that they stay unknown.
 */
export function reportedUsage(usage: UsageEntry): Record<string, unknown> {
  const counts = new UsageCounts(usage);
  if (counts.hasOtherUnit) return { unit: usage['unit'], ...pickNumbers(usage) };
  const { tokens } = countTokens(counts, false);
  const sums: Record<string, number> = {
    prompt_tokens: inputTokens(tokens),
    completion_tokens: tokens.completion_tokens,
    cache_read_input_tokens: tokens.cache_read_input_tokens,
    cache_creation_input_tokens: tokens.cache_creation_input_tokens,
  };
  const reported: Record<string, unknown> = {};
  for (const [member, names] of REPORTED) {
    const others = othersOf(counts, member);
    if (others.length === 0 && !names.some((name) => counts.has(name))) continue;
    const all = REPORTED_SPELLINGS.get(member)!;
    const [broken] = [...counts.broken(all), ...others.filter((count) => !isCount(count))];
    const told = counts.first(all)?.amount ?? others.find(isCount);
    if (broken !== undefined) reported[member] = brokenText(broken);
    else if (told !== undefined) reported[member] = sums[member] ?? told;
  }
  return reported;
}

const NO_COUNTS: readonly unknown[] = [];

/** Returns Langfuse's further details of a sum, which may be missing in the entry. */
function othersOf(counts: UsageCounts, member: string): readonly unknown[] {
  const side =
    member === 'prompt_tokens' ? 'input' : member === 'completion_tokens' ? 'output' : null;
  const isNone = !side || counts.others[side].length === 0 || !isOfLangfuse(counts);
  return isNone ? NO_COUNTS : counts.others[side];
}

/** Returns numbers and booleans as they are, and the first 64 characters of any other value. */
const brokenText = (value: unknown) =>
  typeof value === 'number' || typeof value === 'boolean'
    ? value
    : (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 64);

const pickNumbers = (usage: UsageEntry) =>
  Object.fromEntries(
    ['input', 'output', 'total'].flatMap((name) =>
      typeof usage[name] === 'number' ? [[name, usage[name]]] : [],
    ),
  );
