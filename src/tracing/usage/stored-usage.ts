import { isObject } from '../../platform/json/json-object.js';
import { storable } from '../../platform/query/columns.js';
import { type UsageEntry, UsageCounts } from './usage-counts.js';
import { type TokenDetails, TOKEN_KINDS, kindsIn, type Tokens } from './tokens.js';
import { entryTokens, requestsIn } from './usage.js';

/** A usage that was read: kinds whose number of tokens it does not say, or not in a way that can be read, are unknown. */
export interface ParsedUsage {
  tokens: Tokens;
  details: TokenDetails;
  unknown: ReadonlySet<keyof Tokens>;
}

/** Reads an entry of `summary.usage`. `isGross` says how its client counts: `countsGross`. */
export function parseUsageEntry(usage: UsageEntry, isGross: boolean): ParsedUsage {
  const { tokens, details, unknown } = entryTokens(new UsageCounts(usage), isGross);
  return { tokens, details, unknown: kindsIn(unknown) };
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
  /** A bit for each kind of `TOKEN_KINDS` that is unknown. */
  unknown_kinds?: number;
  /** How many requests the counts add up. */
  requests?: number;
  /** Of the first entry: `USAGE_READER`. */
  reader?: number;
  /** Counts of `DETAILS`, where one is not 0. */
  details?: TokenDetails;
}

/**
 * Which reader made a stored usage. Whoever changes what `entryTokens` reads counts it up, and makes the index of the calls of other
 * readers anew (`calls_unread_usage_idx`): these are read again in the background.
 */
const USAGE_READER = 1;

/** Models of one call that are read: each is priced, which takes up to 0.1 ms. */
const MAX_MODELS = 1000;

/** Reads `summary.usage` for storing; null when it says nothing. */
export function storedUsage(usage: unknown): StoredUsage[] | null {
  if (!isObject(usage)) return null;
  const read = Object.entries(usage)
    .slice(0, MAX_MODELS)
    .flatMap(([llmId, entry]) => (isObject(entry) ? [storedEntry(llmId, entry)] : []));
  if (read.length === 0) return null;
  read[0]!.reader = USAGE_READER;
  return read;
}

function storedEntry(llmId: string, entry: UsageEntry): StoredUsage {
  const counts = new UsageCounts(entry);
  const { tokens, unknown, ...net } = entryTokens(counts, false);
  let { details } = net;
  const stored: StoredUsage = { llm_id: storable(llmId) };
  if (stored.llm_id !== llmId) stored.sent_llm_id = JSON.stringify(llmId);
  for (const kind of TOKEN_KINDS) if (tokens[kind] > 0) stored[kind] = tokens[kind];
  if (tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens > 0) {
    const gross = entryTokens(counts, true);
    if (gross.tokens.prompt_tokens !== tokens.prompt_tokens) {
      stored.gross_prompt_tokens = gross.tokens.prompt_tokens;
      ({ details } = gross); // of fewer prompt tokens, so that they are among both
    }
  }
  if (unknown > 0) stored.unknown_kinds = unknown;
  const requests = requestsIn(counts);
  if (requests !== undefined) stored.requests = requests;
  if (details) stored.details = details;
  return stored;
}

/** The name of a model as it was sent. */
export const sentName = ({ llm_id, sent_llm_id }: StoredUsage): string =>
  sent_llm_id === undefined ? llm_id : (JSON.parse(sent_llm_id) as string);

/** What `storedUsage` left out put back. `countsGross` is of the client of the call. */
export function parseStoredUsage(stored: StoredUsage, countsGross: boolean): ParsedUsage {
  const { gross_prompt_tokens: gross, unknown_kinds: unknown = 0 } = stored;
  const tokens = Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, stored[kind] ?? 0]));
  if (countsGross && gross !== undefined) tokens['prompt_tokens'] = gross;
  return {
    tokens: tokens as unknown as Tokens,
    details: stored.details ?? null,
    unknown: kindsIn(unknown),
  };
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
