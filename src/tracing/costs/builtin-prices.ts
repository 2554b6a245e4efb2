import {
  calcPrice,
  type ConditionalPrice,
  type PriceCalculationResult,
} from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';
import { Decimal } from '../../platform/json/decimal.js';
import type { Price } from './price-kinds.js';

/** Prices of the library are for a million tokens. */
const MILLION_PLACES = 6;

type Found = NonNullable<PriceCalculationResult>;
/** A price of the library: the same for every prompt, or another one for prompts of more than `start` tokens. */
type LibraryPrice = Found['model_price'][string];

/**
 * The library compares a name with hundreds of patterns (40 to 80 µs); for a model whose prices do not change with time
 * once is enough.
 */
const known = new LRUCache<string, { found: PriceCalculationResult }>({ max: 2000 });

/**
 * The price of `@pydantic/genai-prices` for a model at an instant, null when it knows none. `inputTokens`, cached ones
 * included, select the tier. Only data that ships with the package is used: it fetches nothing unless asked to update.
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
  };
}

/**
 * The name under which a price is found for a model of a provider: its own where that is enough, else `<provider>/<model>`.
 * Providers are spelled in many ways (`openai.embedding`, `gcp.vertex_ai`), so their first part is tried first.
 */
export function pricedName(model: string, provider: string | undefined): string {
  const now = new Date();
  if (!provider || model.includes('/') || lookUp(model, now)) return model;
  const names = [provider.split('.', 1)[0]!, provider].map((name) => `${name}/${model}`);
  return names.find((name) => lookUp(name, now)) ?? model;
}

function lookUp(llmId: string, at: Date): PriceCalculationResult {
  const earlier = known.get(llmId);
  if (earlier && !Array.isArray(earlier.found?.model.prices)) return earlier.found;
  const found = match(llmId, at);
  known.set(llmId, { found });
  return found;
}

/** By the library's own matching; `<provider>/<model>`, the spelling of routers, names the provider. */
function match(llmId: string, timestamp: Date): PriceCalculationResult {
  const found = calcPrice({}, llmId, { timestamp });
  const slash = llmId.indexOf('/');
  if (found || slash < 1) return found;
  return calcPrice({}, llmId.slice(slash + 1), { timestamp, providerId: llmId.slice(0, slash) });
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

/** The day from which the price is in force, null when it always was, or changes with the time of the day. */
function effectiveDate({ model, model_price }: Found): string | null {
  if (!Array.isArray(model.prices)) return null;
  const constraint = model.prices.find(({ prices }) => prices === model_price)?.constraint;
  return constraint?.type === 'start_date' ? `${constraint.start_date}T00:00:00.000000Z` : null;
}

/** Where the price of a model changes: instants, and the least numbers of input tokens of another tier. */
export interface Splits {
  instants: Date[];
  tiers: number[];
}

/** Calls of a model: the first and the last start, and the least and the most input tokens of one. */
export interface Reach {
  first: Date;
  last: Date;
  minInput: number;
  maxInput: number;
}

/** What lies between calls of a model that the library may price differently. */
export function builtinSplits(llmId: string, { first, last, minInput, maxInput }: Reach): Splits {
  const model = lookUp(llmId, first)?.model;
  if (!model) return { instants: [], tiers: [] };
  const dated = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  const starts = dated.flatMap(({ prices }) =>
    Object.values(prices).flatMap((price) =>
      typeof price === 'object' ? price.tiers.map(({ start }) => start + 1) : [],
    ),
  );
  return {
    instants: dated
      .flatMap(({ constraint }) => listInstants(constraint, first, last))
      .filter((at) => at > first && at <= last),
    tiers: [...new Set(starts)].filter((tier) => tier > minInput && tier <= maxInput),
  };
}

const DAY_MS = 86_400_000;

/** When a constraint begins or ends to hold; those of a time of the day for every day between two instants. */
function listInstants(constraint: ConditionalPrice['constraint'], first: Date, last: Date): Date[] {
  if (!constraint) return [];
  if (constraint.type === 'start_date') return [new Date(constraint.start_date)];
  const days: Date[] = [];
  for (let day = Math.floor(+first / DAY_MS) * DAY_MS; day <= +last; day += DAY_MS)
    for (const time of [constraint.start_time, constraint.end_time])
      days.push(new Date(`${new Date(day).toISOString().slice(0, 11)}${time}`));
  return days;
}
