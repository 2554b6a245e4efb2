import {
  calcPrice,
  type ConditionalPrice,
  type PriceCalculationResult,
} from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';
import { Decimal } from '../../platform/json/decimal.js';
import { DETAILS, type DetailName } from '../usage/tokens.js';
import type { Price } from './price-kinds.js';

/** The library states prices per million tokens. */
const MILLION_PLACES = 6;

type FoundPrice = NonNullable<PriceCalculationResult>;
/** A price of the library: one number, or one that changes for prompts of more than `start` tokens. */
type LibraryPrice = FoundPrice['model_price'][string];

/**
 * Caches look-ups, since the library compares a name with hundreds of patterns (40 to 80 µs). For a model whose prices
 * do not depend on time, one look-up is enough.
 */
const known = new LRUCache<string, { found: PriceCalculationResult; route?: LookupName }>({
  max: 2000,
});

/** A name that the library matches, with the provider when the name alone is ambiguous. */
type LookupName = readonly [name: string, providerId?: string];

/**
 * Returns the price that `@pydantic/genai-prices` has for a model at an instant, or null. `inputTokens`, including
 * cached ones, select the tier. The data ships with the package, which fetches nothing unless an update is requested.
 */
export function builtinPrice(llmId: string, at: Date, inputTokens: number): Price | null {
  const found = lookUp(llmId, at);
  if (!found) return null;
  const { model_price: prices, provider, model } = found;
  const price = (name: string) => decimal(prices[name], inputTokens);
  const prompt = price('input_mtok');
  const completion = price('output_mtok');
  if (!prompt && !completion) return null;
  return {
    id: `${provider.id}/${model.id}`,
    pricing_level: 'builtin',
    provider_id: provider.id,
    effective_date: effectiveDate(found),
    prompt_token_cost: prompt,
    completion_token_cost: completion,
    cache_read_input_token_cost: price('cache_read_mtok') ?? prompt,
    cache_creation_input_token_cost: price('cache_write_mtok') ?? prompt,
    prompt_token_cost_unit: 'USD',
    completion_token_cost_unit: 'USD',
    details: detailPrices(found, price),
  };
}

const DETAIL_PRICES: Record<DetailName, string> = {
  audio_input_tokens: 'input_audio_mtok',
  image_input_tokens: 'input_image_mtok',
  video_input_tokens: 'input_video_mtok',
  audio_output_tokens: 'output_audio_mtok',
  image_output_tokens: 'output_image_mtok',
  video_output_tokens: 'output_video_mtok',
  reasoning_tokens: 'output_reasoning_mtok',
  citation_tokens: 'output_citation_mtok',
  cache_read_audio_tokens: 'cache_audio_read_mtok',
  cache_read_image_tokens: 'cache_image_read_mtok',
  cache_creation_1h_input_tokens: 'cache_write_1h_mtok',
};

/**
 * Returns the prices of details, or null when they cost the same as their kind. Anthropic charges twice the input price
 * for tokens that a cache keeps for an hour
 * (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#pricing). The library lists that price for few
 * Claude models.
 */
function detailPrices(
  { model }: FoundPrice,
  price: (name: string) => Decimal | null,
): Price['details'] {
  const details = DETAILS.map(([name]) => price(DETAIL_PRICES[name]));
  const hour = DETAILS.findIndex(([name]) => name === 'cache_creation_1h_input_tokens');
  if (/claude/i.test(model.id)) details[hour] ??= price('input_mtok')?.times(2) ?? null;
  return details.some((one) => one !== null) ? details : null;
}

/**
 * Returns the name under which a price is found: the model's own name, or else `<provider>/<model>`. Instrumentations
 * write providers in many ways (`openai.embedding`, `gcp.vertex_ai`), so the first part is tried first.
 */
export function pricedName(model: string, provider: string | undefined): string {
  if (!provider || model.includes('/')) return model;
  const key = `${provider}/${model}`;
  let name = pricedNames.get(key);
  if (name === undefined) pricedNames.set(key, (name = findPricedName(model, provider)));
  return name;
}

/** Every span needs a name, and programs use few models. */
const pricedNames = new LRUCache<string, string>({
  max: 2000,
  maxSize: 2 ** 20,
  sizeCalculation: (name, key) => name.length + key.length,
});

function findPricedName(model: string, provider: string): string {
  const now = new Date();
  if (calcPrice({}, model, { timestamp: now })) return model;
  const names = [provider.split('.', 1)[0]!, provider].map((name) => `${name}/${model}`);
  return names.find((name) => lookUp(name, now)) ?? model;
}

function lookUp(llmId: string, at: Date): PriceCalculationResult {
  const earlier = known.get(llmId);
  if (earlier && !Array.isArray(earlier.found?.model.prices)) return earlier.found;
  if (earlier?.route) return priceBy(earlier.route, at);
  for (const route of lookupNames(llmId)) {
    const found = priceBy(route, at);
    if (!found) continue;
    known.set(llmId, { found, route });
    return found;
  }
  known.set(llmId, { found: null });
  return null;
}

const priceBy = ([name, providerId]: LookupName, timestamp: Date): PriceCalculationResult =>
  calcPrice({}, name, { timestamp, ...(providerId && { providerId }) });

/**
 * Models whose names the library matches only with their maker. Trying each maker for each name takes ten times as
 * long.
 */
const OF_MAKERS: readonly (readonly [name: RegExp, maker: string])[] = [
  [/^text-(?:embedding-(?:3|ada)|davinci)/, 'openai'],
  [/^sonar(?:-|$)/, 'perplexity'],
  [/^gemma-/, 'google'],
];

/** Models of Bedrock, behind a region, a path or an ARN: `us.anthropic.claude-…-v1:0`. */
const OF_BEDROCK =
  /(?:^|\/)((?:[a-z-]{2,8}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|nvidia|openai|qwen|writer|zai)\.[\w.:-]+)$/;

/** Provider names that the library does not know, from LiteLLM, LangChain (`init_chat_model`) and Pydantic AI. */
const PROVIDER_ALIASES = new Map([
  ['azure_ai', 'azure'],
  ['azure_openai', 'azure'],
  ['google_genai', 'google'],
  ['google_vertexai', 'google'],
  ['google-gla', 'google'],
  ['google-vertex', 'google'],
  ['mistralai', 'mistral'],
  ['bedrock_converse', 'aws'],
  ['openai-chat', 'openai'],
  ['openai-responses', 'openai'],
]);

/** Gateways that charge the provider's price: those of Vercel, Pydantic and Cloudflare. */
const GATEWAYS = new Set(['vercel', 'vercel_ai_gateway', 'gateway', 'cloudflare']);

/**
 * Yields names to look up, in this order: the name itself; provider and model of `<provider>/<model>` (routers) and
 * `<provider>:<model>` (LangChain, Pydantic AI); names of Bedrock; Google's paths (`models/gemini-…`); names with their
 * maker.
 */
function* lookupNames(llmId: string): Generator<LookupName> {
  yield [llmId];
  yield* ofProvider(llmId);
  const [, bedrock] = OF_BEDROCK.exec(llmId) ?? [];
  if (bedrock) yield [bedrock, 'aws'];
  const [, path] = /(?:^|\/)models\/([^/]+)$/.exec(llmId) ?? [];
  if (path) yield* [[path], [path, 'google']] as const;
  for (const [name, maker] of OF_MAKERS) if (name.test(llmId)) yield [llmId, maker];
}

/** Yields the name behind a provider, and behind a gateway's provider too. */
function* ofProvider(llmId: string): Generator<LookupName> {
  const [, provider, name] =
    /^([^/]+)\/(.+)$/s.exec(llmId) ?? /^([a-z][\w-]*):([^:/][^/]*)$/.exec(llmId) ?? [];
  if (!provider || !name) return;
  yield [name, PROVIDER_ALIASES.get(provider) ?? provider];
  if (GATEWAYS.has(provider) && name.includes('/')) yield* ofProvider(name);
}

function decimal(price: LibraryPrice, inputTokens: number): Decimal | null {
  if (price === undefined) return null;
  const amount =
    typeof price === 'number'
      ? price
      : price.tiers.reduce(
          (amount, tier) => (inputTokens > tier.start ? tier.price : amount),
          price.base,
        );
  return Decimal.parse(String(amount)).shifted(MILLION_PLACES);
}

/** Returns the day from which the price is in force. Null when it always was, or when it depends on the time of day. */
function effectiveDate({ model, model_price }: FoundPrice): string | null {
  if (!Array.isArray(model.prices)) return null;
  const constraint = model.prices.find(({ prices }) => prices === model_price)?.constraint;
  return constraint?.type === 'start_date' ? `${constraint.start_date}T00:00:00.000000Z` : null;
}

/** Points at which the price of a model changes: instants, and the lowest input tokens of each further tier. */
export interface PriceSplits {
  instants: Date[];
  tiers: number[];
}

/** Range of the calls of a model: first and last start, and the fewest and most input tokens of one call. */
export interface UsageRange {
  first: Date;
  last: Date;
  minInput: number;
  maxInput: number;
}

/** A price of a model that holds from a day, a time of day (both UTC) and a number of input tokens on. */
export interface BuiltinCell {
  since: string;
  time: string;
  tier: number;
  /** Null when the library has no price. */
  price: Price | null;
}

const cells = new LRUCache<string, BuiltinCell[]>({ max: 2000 });

/**
 * Returns all prices of a model as cells. A call has the price of the last cell that it has reached, ordered by day,
 * then time, then tokens. Each price is looked up at an instant inside its cell.
 */
export function builtinCells(llmId: string): BuiltinCell[] {
  let found = cells.get(llmId);
  if (!found) cells.set(llmId, (found = listCells(llmId)));
  return found;
}

function listCells(llmId: string): BuiltinCell[] {
  const model = lookUp(llmId, new Date(0))?.model;
  if (!model) return [];
  const dated = datedPrices(model);
  const constraints = dated.flatMap(({ constraint }) => constraint ?? []);
  const days = constraints.flatMap((one) =>
    one.type === 'start_date' ? [+new Date(one.start_date)] : [],
  );
  const times = constraints.flatMap((one) =>
    one.type === 'start_date'
      ? []
      : [one.start_time, one.end_time].map((time) => +new Date(`1970-01-01T${time}`)),
  );
  const before = Math.min(DAY_MS, ...days) - DAY_MS;
  return ascending([before, ...days]).flatMap((day) =>
    ascending([0, ...times.map((time) => (time + DAY_MS) % DAY_MS)]).flatMap((time) =>
      ascending([0, ...tierStarts(dated)]).map((tier) => ({
        since: day === before ? '-infinity' : new Date(day).toISOString(),
        time: new Date(time).toISOString().slice(11, -1),
        tier,
        price: builtinPrice(llmId, new Date(day + time), tier),
      })),
    ),
  );
}

const ascending = (numbers: number[]) => [...new Set(numbers)].toSorted((a, b) => a - b);

const datedPrices = ({ prices }: FoundPrice['model']): ConditionalPrice[] =>
  Array.isArray(prices) ? prices : [{ prices }];

/** Returns the lowest numbers of input tokens of further tiers. */
const tierStarts = (dated: readonly Pick<ConditionalPrice, 'prices'>[]): number[] =>
  dated.flatMap(({ prices }) =>
    Object.values(prices).flatMap((price) =>
      typeof price === 'object' ? price.tiers.map(({ start }) => start + 1) : [],
    ),
  );

/** Returns the points inside the range at which the library's price may change. */
export function builtinSplits(
  llmId: string,
  { first, last, minInput, maxInput }: UsageRange,
): PriceSplits {
  const model = lookUp(llmId, first)?.model;
  if (!model) return { instants: [], tiers: [] };
  const dated = datedPrices(model);
  return {
    instants: dated
      .flatMap(({ constraint }) => listInstants(constraint, first, last))
      .filter((at) => at > first && at <= last),
    tiers: [...new Set(tierStarts(dated))].filter((tier) => tier > minInput && tier <= maxInput),
  };
}

const DAY_MS = 86_400_000;

/**
 * Lists the instants at which a constraint starts or stops to hold. A time of day is listed for every day of the range.
 */
function listInstants(constraint: ConditionalPrice['constraint'], first: Date, last: Date): Date[] {
  if (!constraint) return [];
  if (constraint.type === 'start_date') return [new Date(constraint.start_date)];
  const days: Date[] = [];
  for (let day = Math.floor(+first / DAY_MS) * DAY_MS; day <= +last; day += DAY_MS)
    for (const time of [constraint.start_time, constraint.end_time])
      days.push(new Date(`${new Date(day).toISOString().slice(0, 11)}${time}`));
  return days;
}
