import { isObject } from '../../platform/json/json-object.js';
import { storable } from '../../platform/query/columns.js';
import { type UsageEntry, UsageCounts } from './usage-counts.js';
import { type TokenDetails, TOKEN_KINDS, kindsIn, type Tokens } from './tokens.js';
import { entryTokens, requestsIn } from './usage.js';

/** A parsed usage. A kind is unknown when its number of tokens is missing or unreadable. */
export interface ParsedUsage {
  tokens: Tokens;
  details: TokenDetails;
  unknown: ReadonlySet<keyof Tokens>;
}

/** Reads an entry of `summary.usage`. `isGross` is the result of `countsGross` for its client. */
export function parseUsageEntry(usage: UsageEntry, isGross: boolean): ParsedUsage {
  const { tokens, details, unknown } = entryTokens(new UsageCounts(usage), isGross);
  return { tokens, details, unknown: kindsIn(unknown) };
}

/**
 * The usage of one model of a call, as `calls.usage` stores it. Counts of 0 and unknown counts are left out.
 * `gross_prompt_tokens` is left out when it equals `prompt_tokens`.
 */
export interface StoredUsage extends Partial<Tokens> {
  /** The model's name without characters that PostgreSQL cannot store. */
  llm_id: string;
  /** The name as it was sent, as JSON text, when it differs from `llm_id`. */
  sent_llm_id?: string;
  /** The prompt tokens when the client counts gross. */
  gross_prompt_tokens?: number;
  /** A bit for each unknown kind, in the order of `TOKEN_KINDS`. */
  unknown_kinds?: number;
  /** The number of requests that the counts sum up. */
  requests?: number;
  /** The `USAGE_READER` that read the usage; only in the first entry. */
  reader?: number;
  /** Counts of `DETAILS`; absent when all are 0. */
  details?: TokenDetails;
}

/**
 * The version of the reader that stored a usage. Increment it with every change of what `entryTokens` reads, and
 * rebuild the index of calls of other versions (`calls_unread_usage_idx`): these calls are read again in the
 * background.
 */
const USAGE_READER = 1;

/** Models of one call that are read. Pricing one takes up to 0.1 ms. */
const MAX_MODELS = 1000;

/** Reads `summary.usage` for storing; null when it contains no entry. */
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
      ({ details } = gross); // details of the lower prompt count, which fit into both counts
    }
  }
  if (unknown > 0) stored.unknown_kinds = unknown;
  const requests = requestsIn(counts);
  if (requests !== undefined) stored.requests = requests;
  if (details) stored.details = details;
  return stored;
}

export const sentName = ({ llm_id, sent_llm_id }: StoredUsage): string =>
  sent_llm_id === undefined ? llm_id : (JSON.parse(sent_llm_id) as string);

/** Restores the values that `storedUsage` left out. `countsGross` describes the client of the call. */
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

/** The first release of Weave's Python SDK that includes cached tokens in Anthropic's input tokens. */
const GROSS_SINCE = [0, 53, 2];

/** Returns true when a client counts gross, also in sums over children. `weave` is the call's `attributes.weave`. */
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
