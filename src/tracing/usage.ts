import { isObject } from '../platform/json/is-object.js';
import { storable } from '../platform/query/columns.js';

/** Tokens one call spent on one model. Prompt tokens are those that no cache served or stored. */
export interface Tokens {
  prompt_tokens: number;
  completion_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** Tokens of the prompt, whether a cache served them or not. */
export const inputTokens = (tokens: Tokens): number =>
  tokens.prompt_tokens + tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens;

/** The entry of a model in `summary.usage`, as some client or provider wrote it. */
export type Usage = Readonly<Record<string, unknown>>;

/** A usage that was read: kinds whose number of tokens it does not say, or not in a way that can be read, are unknown. */
export interface UsageRead {
  tokens: Tokens;
  unknown: ReadonlySet<keyof Tokens>;
}

/**
 * What clients and providers call the kinds of tokens, and what they count in them. The table of all of them, with who
 * writes what, is in docs/adr/0012-costs.md.
 */
interface Dialect {
  /** Members of an entry that hold the count; a dot leads into an object. The first one above 0 counts. */
  prompt: string;
  completion: string;
  /** Cached tokens that the prompt tokens hold: they are subtracted. */
  cacheRead: readonly string[];
  cacheCreation: readonly string[];
}

const DIALECTS: readonly Dialect[] = [
  {
    // chat completions of OpenAI and those who speak like it: LiteLLM, Mistral, Groq; also what Skein makes of spans
    prompt: 'prompt_tokens',
    completion: 'completion_tokens',
    cacheRead: ['prompt_tokens_details.cached_tokens'],
    cacheCreation: ['prompt_tokens_details.cache_write_tokens'],
  },
  {
    // responses of OpenAI
    prompt: 'input_tokens',
    completion: 'output_tokens',
    cacheRead: ['input_tokens_details.cached_tokens'],
    cacheCreation: ['input_tokens_details.cache_write_tokens'],
  },
  {
    // Google
    prompt: 'prompt_token_count',
    completion: 'candidates_token_count',
    cacheRead: ['cached_content_token_count'],
    cacheCreation: [],
  },
  // Cohere, as it is billed
  {
    prompt: 'billed_units.input_tokens',
    completion: 'billed_units.output_tokens',
    cacheRead: [],
    cacheCreation: [],
  },
  // Bedrock, whose cached tokens are apart
  { prompt: 'inputTokens', completion: 'outputTokens', cacheRead: [], cacheCreation: [] },
];
const [CHAT, RESPONSES] = DIALECTS as [Dialect, Dialect];

/** Cached tokens that may be apart from the prompt tokens: Anthropic counts them so, and others who took its names do not. */
const NAMED_CACHE_READ = 'cache_read_input_tokens';
const NAMED_CACHE_CREATION = 'cache_creation_input_tokens';
/** Cached tokens that always are. */
const APART_CACHE_READ = 'cacheReadInputTokens';
const APART_CACHE_CREATION = 'cacheWriteInputTokens';
/** Google's, which the completion tokens do not hold and which cost as much. */
const THOUGHTS = ['thoughts_token_count', 'thoughts_tokens'];
const TOTAL = ['total_tokens', 'total_token_count'];
const REQUESTS = ['requests'];

/** The names of each kind in some dialects. */
const namesIn = (dialects: readonly Dialect[]) => ({
  prompt: dialects.map(({ prompt }) => prompt),
  completion: dialects.map(({ completion }) => completion),
  cacheRead: [...dialects.flatMap(({ cacheRead }) => cacheRead), APART_CACHE_READ],
  cacheCreation: [...dialects.flatMap(({ cacheCreation }) => cacheCreation), APART_CACHE_CREATION],
});
const NAMES = namesIn(DIALECTS);
const BOTH = namesIn([CHAT, RESPONSES]);
const CACHE_READ = [NAMED_CACHE_READ, ...NAMES.cacheRead];
const CACHE_CREATION = [NAMED_CACHE_CREATION, ...NAMES.cacheCreation];
const COMPLETION = [...NAMES.completion, ...THOUGHTS];

/**
 * Reads the token counts. Only whole numbers from 0 are counts. `isGross` says that the client counts cached tokens among
 * Anthropic's input tokens: `countsGross`.
 */
export function readUsage(usage: Usage, isGross: boolean): UsageRead {
  const counts = countsIn(usage);
  return { tokens: countTokens(counts, isGross), unknown: kindsIn(unknownIn(counts)) };
}

/**
 * What a call says of one model, as `calls.usage` holds it: counts of 0 and what is not known are left out, and so is
 * `gross_prompt_tokens` where a client that counts gross says the same.
 */
export interface StoredUsage extends Partial<Tokens> {
  /** As PostgreSQL can hold it. */
  llm_id: string;
  /** The name as it was sent, as JSON text, where that differs. */
  sent_llm_id?: string;
  /** The prompt tokens when the client counts gross. */
  gross_prompt_tokens?: number;
  /** A bit for each kind of `KINDS` that is unknown. */
  unknown_kinds?: number;
  /** How many requests the counts add up. */
  requests?: number;
}

const KINDS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const satisfies readonly (keyof Tokens)[];
/** Their bits. */
const [PROMPT, ANSWER, READ, CREATED] = [1, 2, 4, 8];

/** Models of one call that are read: each is priced, which takes up to 0.1 ms. */
const MAX_MODELS = 1000;

/** Reads `summary.usage` for storing; null when it says nothing. */
export function storedUsage(usage: unknown): StoredUsage[] | null {
  if (!isObject(usage)) return null;
  const read = Object.entries(usage)
    .slice(0, MAX_MODELS)
    .flatMap(([llmId, entry]) => (isObject(entry) ? [storedEntry(llmId, entry)] : []));
  return read.length > 0 ? read : null;
}

function storedEntry(llmId: string, entry: Usage): StoredUsage {
  const counts = countsIn(entry);
  const tokens = countTokens(counts, false);
  const stored: StoredUsage = { llm_id: storable(llmId) };
  if (stored.llm_id !== llmId) stored.sent_llm_id = JSON.stringify(llmId);
  for (const kind of KINDS) if (tokens[kind] > 0) stored[kind] = tokens[kind];
  if (tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens > 0) {
    const gross = countTokens(counts, true).prompt_tokens;
    if (gross !== tokens.prompt_tokens) stored.gross_prompt_tokens = gross;
  }
  const unknown = unknownIn(counts);
  if (unknown > 0) stored.unknown_kinds = unknown;
  const requests = first(counts, REQUESTS);
  if (requests !== undefined) stored.requests = requests;
  return stored;
}

/** The name of a model as it was sent. */
export const sentName = ({ llm_id, sent_llm_id }: StoredUsage): string =>
  sent_llm_id === undefined ? llm_id : (JSON.parse(sent_llm_id) as string);

/** What `storedUsage` left out put back. `countsGross` is of the client of the call. */
export function usageRead(stored: StoredUsage, countsGross: boolean): UsageRead {
  const { gross_prompt_tokens: gross, unknown_kinds: unknown = 0 } = stored;
  const tokens = Object.fromEntries(KINDS.map((kind) => [kind, stored[kind] ?? 0]));
  if (countsGross && gross !== undefined) tokens['prompt_tokens'] = gross;
  return { tokens: tokens as unknown as Tokens, unknown: kindsIn(unknown) };
}

/** The first release of Weave's SDK for Python that counts cached tokens among Anthropic's input tokens. */
const GROSS_SINCE = [0, 53, 2];

/** Whether a client counts gross, also where it sums up children: by what it says of itself in `attributes.weave`. */
export function countsGross(weave: unknown): boolean {
  if (!isObject(weave) || weave['source'] !== 'python-sdk') return false;
  const version = /^([0-9]{1,4})[.]([0-9]{1,4})[.]([0-9]{1,4})/.exec(
    String(weave['client_version']),
  );
  if (!version) return false;
  const numbers = version.slice(1).map(Number);
  const differs = numbers.findIndex((number, i) => number !== GROSS_SINCE[i]);
  return differs === -1 || numbers[differs]! > GROSS_SINCE[differs]!;
}

function countTokens(counts: UsageCounts, isGross: boolean): Tokens {
  const [names, count] = isOfBoth(counts) ? [BOTH, sum] : [NAMES, firstOrZero];
  const prompt = count(counts, names.prompt);
  const answer = count(counts, names.completion);
  const total = first(counts, TOTAL);
  // a total without the thoughts says that they are among the completion tokens
  const completion = total === prompt + answer ? answer : answer + firstOrZero(counts, THOUGHTS);
  if (!counts.hasCached)
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
  const cacheRead = firstOrZero(counts, [NAMED_CACHE_READ]) || count(counts, names.cacheRead);
  const cacheCreation =
    firstOrZero(counts, [NAMED_CACHE_CREATION]) || count(counts, names.cacheCreation);
  const isApart =
    firstOrZero(counts, [APART_CACHE_READ, APART_CACHE_CREATION]) > 0 ||
    (!isGross && isOfAnthropic(counts) && total !== prompt + completion) ||
    cacheRead + cacheCreation > prompt;
  return {
    prompt_tokens: isApart ? prompt : prompt - cacheRead - cacheCreation,
    completion_tokens: completion,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheCreation,
  };
}

/** A sum of chat completions and responses, as SDKs make it for a parent: its total is that of both together. */
function isOfBoth(counts: UsageCounts): boolean {
  const one = (name: string) => firstOrZero(counts, [name]);
  const [chat, responses] = [one(CHAT.prompt), one(RESPONSES.prompt)];
  if (chat === 0 || responses === 0) return false;
  const sums = chat + responses + one(CHAT.completion) + one(RESPONSES.completion);
  return first(counts, TOTAL) === sums;
}

/** Has names of Anthropic, and none by which others say that the prompt tokens hold the cached ones. */
const isOfAnthropic = (counts: UsageCounts) =>
  firstOrZero(counts, [NAMED_CACHE_READ, NAMED_CACHE_CREATION]) > 0 &&
  firstOrZero(counts, [CHAT.prompt, ...RESPONSES.cacheRead, ...RESPONSES.cacheCreation]) === 0;

/** Names of counts in the usage that spans and Langfuse tell, by the member of an entry that they become. */
export const TOLD: Readonly<Record<string, readonly string[]>> = {
  prompt_tokens: ['input', 'promptTokens', ...NAMES.prompt],
  completion_tokens: ['output', 'completionTokens', ...NAMES.completion],
  total_tokens: ['total', 'totalTokens', ...TOTAL],
  cache_read_input_tokens: [
    'input_cached_tokens',
    'input_cache_read',
    'prompt_details.cache_read',
    'input_token_details.cache_read', // LangChain
    ...CACHE_READ,
  ],
  cache_creation_input_tokens: [
    'input_cache_creation',
    'input_token_details.cache_creation',
    ...CACHE_CREATION,
  ],
  reasoning_tokens: [
    'output_reasoning_tokens',
    'reasoning_tokens',
    'output_reasoning',
    'completion_details.reasoning',
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'output_token_details.reasoning',
  ],
  audio_input_tokens: ['audio_input_tokens', 'input_audio_tokens', 'input_audio'],
  audio_output_tokens: ['audio_output_tokens', 'output_audio_tokens', 'output_audio'],
};

interface ToldName {
  name: string;
  path: string[];
}

/** Taken apart once: each span is read by all of them. */
const TOLD_PATHS: [string, ToldName[]][] = Object.entries(TOLD).map(([member, names]) => [
  member,
  names.map((name) => ({ name, path: name.split('.') })),
]);

/**
 * An entry of a model from the usage that a span or Langfuse tells: its prompt tokens hold the cached ones, its
 * completion tokens all that the model wrote. Langfuse's own names, `input` and `output`, are what their details leave,
 * `input_…` and `output_…`, unless the total shows that they hold them, as `observeOpenAI` sends it. Others are provider's.
 */
export function toldUsage(counts: Usage): Record<string, number> {
  const told: Record<string, number> = {};
  for (const [member, names] of TOLD_PATHS) {
    const count = firstCount(counts, names);
    if (count !== undefined) told[member] = count;
  }
  const { total_tokens } = told;
  const [input, output] = [counts['input'], counts['output']];
  const isOfLangfuse = isCount(input) || isCount(output);
  if (isOfLangfuse && total_tokens !== countOr0(input) + countOr0(output)) {
    if (isCount(input)) told['prompt_tokens'] = input + sumDetails(counts, IS_INPUT);
    if (isCount(output)) told['completion_tokens'] = output + sumDetails(counts, IS_OUTPUT);
  } else if (!isOfLangfuse) {
    const known = countsIn(counts);
    const tokens = countTokens(known, false);
    if (first(known, NAMES.prompt) !== undefined) told['prompt_tokens'] = inputTokens(tokens);
    if (first(known, NAMES.completion) !== undefined)
      told['completion_tokens'] = tokens.completion_tokens;
  }
  return told;
}

function firstCount(counts: Usage, names: readonly ToldName[]): number | undefined {
  for (const { name, path } of names) {
    const count = counts[name] ?? (path.length > 1 ? at(counts, path) : undefined);
    if (isCount(count)) return count;
  }
  return undefined;
}

const IS_INPUT = /^input_(?!tokens$)|^cache_(read|creation)_input_tokens$/;
const IS_OUTPUT = /^output_(?!tokens$)/;

const countOr0 = (value: unknown) => (isCount(value) ? value : 0);

const sumDetails = (counts: Usage, isDetail: RegExp): number =>
  Object.entries(counts).reduce(
    (all, [name, count]) => (isDetail.test(name) && isCount(count) ? all + count : all),
    0,
  );

/**
 * A kind is unknown when one of its names holds something that is no count; prompt tokens also when those of a cache,
 * which may be among them, are. An entry with neither prompt nor completion tokens says nothing of either.
 */
function unknownIn(counts: UsageCounts): number {
  let unknown = 0;
  if (isBroken(counts, NAMES.prompt)) unknown |= PROMPT;
  if (isBroken(counts, COMPLETION)) unknown |= ANSWER;
  if (counts.hasCached && isBroken(counts, CACHE_READ)) unknown |= READ | PROMPT;
  if (counts.hasCached && isBroken(counts, CACHE_CREATION)) unknown |= CREATED | PROMPT;
  if (first(counts, NAMES.prompt) === undefined && first(counts, NAMES.completion) === undefined)
    unknown |= PROMPT | ANSWER;
  return unknown;
}

const kindsIn = (bits: number) => new Set(KINDS.filter((_, i) => bits & (1 << i)));

/** Values of an entry by the names of the table; those that are null or absent are not there. */
class UsageCounts extends Map<string, unknown> {
  /** Whether one of cached tokens is not 0. Of most entries none is, and nothing about them needs to be read. */
  hasCached = false;
}

/** The names of the table by the member of an entry that they begin with. Each write reads usage: only what an entry has is looked at. */
const BY_MEMBER = new Map<string, { name: string; path: string[]; isCached: boolean }[]>();
for (const name of [NAMES.prompt, COMPLETION, CACHE_READ, CACHE_CREATION, TOTAL, REQUESTS].flat()) {
  const path = name.split('.');
  const isCached = CACHE_READ.includes(name) || CACHE_CREATION.includes(name);
  BY_MEMBER.set(path[0]!, [...(BY_MEMBER.get(path[0]!) ?? []), { name, path, isCached }]);
}

function countsIn(usage: Usage): UsageCounts {
  const counts = new UsageCounts();
  for (const member of Object.keys(usage))
    for (const { name, path, isCached } of BY_MEMBER.get(member) ?? []) {
      const value = at(usage, path) ?? null;
      if (value === null) continue;
      counts.set(name, value);
      if (isCached && value !== 0) counts.hasCached = true;
    }
  return counts;
}

const isBroken = (counts: UsageCounts, names: readonly string[]) =>
  names.some((name) => counts.has(name) && !isCount(counts.get(name)));

/** The first number above 0, else 0 where one is 0. */
function first(counts: UsageCounts, names: readonly string[]): number | undefined {
  let found: number | undefined;
  for (const name of names) {
    const count = counts.get(name);
    if (!isCount(count)) continue;
    if (count > 0) return count;
    found = 0;
  }
  return found;
}

const firstOrZero = (counts: UsageCounts, names: readonly string[]): number =>
  first(counts, names) ?? 0;

const sum = (counts: UsageCounts, names: readonly string[]): number =>
  names.reduce((all, name) => all + firstOrZero(counts, [name]), 0);

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
