import { storable } from '../../platform/query/columns.js';
import { builtinPrice } from './builtin-prices.js';
import {
  PRICE_KINDS,
  type Price,
  type PriceKind,
  type PriceName,
  tokensCost,
} from './price-kinds.js';
import { Decimal } from '../../platform/json/decimal.js';
import {
  sentName,
  type StoredUsage,
  type ParsedUsage,
  parseStoredUsage,
} from '../usage/stored-usage.js';
import { inputTokens, type Tokens } from '../usage/tokens.js';

/** A record of the project as `pricesOfCall` returns it. Prices are decimal texts. */
export interface PriceRecord extends Record<PriceName, string | null> {
  id: string;
  effective_date: string;
  provider_id: string;
  prompt_token_cost: string;
  completion_token_cost: string;
  prompt_token_cost_unit: string;
  completion_token_cost_unit: string;
}

export interface ModelUsage extends ParsedUsage {
  llmId: string;
  requests: number | null;
}

/** `price` is null for a model that has a price neither in the project nor in the library. */
export interface PricedUsage extends ModelUsage {
  price: Price | null;
}

/** The context that prices the usage of a call. The keys of `records` are model names as `storable` returns them. */
export interface PricingContext {
  /** The project's records that were in force when the call started, as PostgreSQL selected them. */
  records: Readonly<Record<string, PriceRecord | null>> | null;
  started_at: string;
}

/** The stored usage of a call, and the context that prices it. */
export interface Priceable extends PricingContext {
  usage: StoredUsage[] | null;
  counts_gross: boolean;
}

/** The usage that a call reports for a model, with a number of requests. */
export interface CountedUsage extends ModelUsage {
  requests: number;
}

/** The spending of a call on a model. A cost is null when it is unknown. */
export interface Spending {
  requests: number;
  tokens: Tokens;
  costs: Record<keyof Tokens, Decimal | null>;
}

/** Characters of a model name. No record has a longer one, and the library compares long names slowly. */
export const MAX_PRICED_NAME = 256;

/** Reads the usage of each model from `calls.usage` and `calls.counts_gross`. */
export const pricedModels = (
  usage: readonly StoredUsage[] | null,
  countsGross: boolean,
): ModelUsage[] =>
  (usage ?? []).map((model) => ({
    llmId: sentName(model),
    ...parseStoredUsage(model, countsGross),
    requests: model.requests ?? null,
  }));

/** Returns the usage that a call reports, keyed by model. An entry without a number of requests counts as one. */
export const countedUsage = ({ usage, counts_gross }: Priceable): Map<string, CountedUsage> =>
  new Map(
    pricedModels(usage, counts_gross).map((model) => [
      model.llmId,
      { ...model, requests: model.requests ?? 1 },
    ]),
  );

/** Adds the price in force when the call started: the project's record, or else the built-in one. */
export function priceUsage(
  model: ModelUsage,
  { records, started_at }: PricingContext,
): PricedUsage {
  const key = storable(model.llmId);
  const record = records && Object.hasOwn(records, key) ? records[key] : null;
  const price = record
    ? recordPrice(record)
    : libraryPrice(model.llmId, new Date(started_at), model.tokens);
  return { ...model, price };
}

const libraryPrice = (llmId: string, startedAt: Date, tokens: Tokens) =>
  hasPlainName(llmId) ? builtinPrice(llmId, startedAt, inputTokens(tokens)) : null;

export const hasPlainName = (llmId: string) => llmId.length <= MAX_PRICED_NAME;

/**
 * Reads a record. Cached tokens without a price of their own cost the same as prompt tokens, and details the same as
 * their kind.
 */
export function recordPrice(record: PriceRecord): Price {
  const { prompt_token_cost: prompt } = record;
  return {
    ...record,
    pricing_level: 'project',
    details: null,
    prompt_token_cost: Decimal.parse(prompt),
    completion_token_cost: Decimal.parse(record.completion_token_cost),
    cache_read_input_token_cost: Decimal.parse(record.cache_read_input_token_cost ?? prompt),
    cache_creation_input_token_cost: Decimal.parse(
      record.cache_creation_input_token_cost ?? prompt,
    ),
  };
}

/** Returns tokens × price. Null without a price, even for no tokens, and when the tokens are unknown. */
const kindTotal = ({ tokens, details, unknown, price }: PricedUsage, kind: PriceKind) =>
  unknown.has(kind[0]) || !price ? null : tokensCost(price, kind, tokens[kind[0]], details);

/** Prices what a call spent on a model. The cost of no tokens is 0, whether they have a price or not. */
export function spendingOn(model: CountedUsage, pricing: PricingContext): Spending {
  const priced = priceUsage(model, pricing);
  const { requests, tokens, unknown } = model;
  const costs = PRICE_KINDS.map((kind) => {
    const isZero = tokens[kind[0]] === 0 && !unknown.has(kind[0]);
    return [kind[0], isZero ? Decimal.zero : kindTotal(priced, kind)];
  });
  return { requests, tokens, costs: Object.fromEntries(costs) as Spending['costs'] };
}

/**
 * Returns the total of all kinds. Null when tokens of a kind have no price or are unknown, or when the units differ.
 */
export function grandTotal(usage: PricedUsage): Decimal | null {
  const { tokens, unknown, price } = usage;
  if (!price || price.prompt_token_cost_unit !== price.completion_token_cost_unit) return null;
  let total = Decimal.zero;
  for (const kind of PRICE_KINDS) {
    const part = kindTotal(usage, kind);
    if (part) total = total.plus(part);
    else if (tokens[kind[0]] > 0 || unknown.has(kind[0])) return null;
  }
  return total;
}

/** Returns the `costsJson` of a call from its records (as `pricesOfCall` returns them), its start and its usage. */
export function costsOfCall([records, startedAt, usage, countsGross]: readonly (
  string | null
)[]): string {
  const pricing = {
    records: JSON.parse(records ?? '{}') as Record<string, PriceRecord>,
    started_at: startedAt!,
  };
  const models = pricedModels(JSON.parse(usage ?? '[]') as StoredUsage[], countsGross === 'true');
  return costsJson(models.map((model) => priceUsage(model, pricing)));
}

/**
 * Returns the costs of a call as JSON text: an object keyed by model. It is concatenated by hand, since streams print
 * it for every call and `printDecimals` takes four times as long.
 */
const costsJson = (models: PricedUsage[]) =>
  `{${models.map((model) => `${JSON.stringify(model.llmId)}:${costJson(model)}`).join(',')}}`;

function costJson(usage: PricedUsage): string {
  const { tokens, requests, price } = usage;
  const members = ['', '', ''];
  for (const kind of PRICE_KINDS) {
    const [count, cost, total] = kind;
    members[0] += `"${count}":${tokens[count]},`;
    members[1] += `"${cost}":${decimalText(price?.[cost])},`;
    members[2] += `"${total}":${decimalText(kindTotal(usage, kind))},`;
  }
  const [counts, costs, totals] = members;
  const units = JSON.stringify({
    prompt_token_cost_unit: price?.prompt_token_cost_unit ?? null,
    completion_token_cost_unit: price?.completion_token_cost_unit ?? null,
  }).slice(1, -1);
  const total = decimalText(grandTotal(usage));
  const record = JSON.stringify(priceRecord(price)).slice(1);
  return `{${counts}"requests":${requests},${costs}${units},${totals}"total_cost":${total},${record}`;
}

const decimalText = (number: Decimal | null | undefined) => number?.toString() ?? 'null';

/** Returns the record that was used. `unpriced` means that none was used and the cost is unknown, not 0. */
export const priceRecord = (price: Price | null) => ({
  id: price?.id ?? null,
  pricing_level: price?.pricing_level ?? 'unpriced',
  effective_date: price?.effective_date ?? null,
  provider_id: price?.provider_id ?? null,
});
