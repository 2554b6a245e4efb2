import { Decimal } from '../../platform/json/decimal.js';
import { DETAILS, type TokenDetails, type Tokens } from '../usage/tokens.js';

/** Kinds of tokens, each with the members for its price and its total. */
export const PRICE_KINDS = [
  ['prompt_tokens', 'prompt_token_cost', 'prompt_tokens_total_cost'],
  ['completion_tokens', 'completion_token_cost', 'completion_tokens_total_cost'],
  ['cache_read_input_tokens', 'cache_read_input_token_cost', 'cache_read_input_tokens_total_cost'],
  [
    'cache_creation_input_tokens',
    'cache_creation_input_token_cost',
    'cache_creation_input_tokens_total_cost',
  ],
] as const;
export type PriceKind = (typeof PRICE_KINDS)[number];

/** Names of prices, both as columns and on the wire. */
export type PriceName = PriceKind[1];
export const PRICE_NAMES: readonly PriceName[] = PRICE_KINDS.map(([, name]) => name);

/** The price of one token of each kind in a record; null when it has none. */
export interface Price extends Record<PriceName, Decimal | null> {
  id: string;
  pricing_level: 'project' | 'builtin';
  effective_date: string | null;
  provider_id: string;
  prompt_token_cost_unit: string;
  completion_token_cost_unit: string;
  /** Prices of `DETAILS`, in their order; null for a detail that costs the same as its kind. */
  details: readonly (Decimal | null)[] | null;
}

/**
 * Returns tokens × price, with separate prices for details that have one. Null when the kind has no price, unless
 * details make up all its tokens.
 */
export function tokensCost(
  price: Price,
  [kind, cost]: PriceKind,
  tokens: number | bigint,
  details: TokenDetails | readonly bigint[],
): Decimal | null {
  const priced = pricedDetails(price, kind, details);
  if (priced.length === 0) return price[cost]?.times(tokens) ?? null;
  const rest = priced.reduce((left, { count }) => left - BigInt(count), BigInt(tokens));
  const own = priced.reduce((sum, each) => sum.plus(each.price.times(each.count)), Decimal.zero);
  if (rest === 0n) return own;
  return price[cost]?.times(rest).plus(own) ?? null;
}

/** Returns the details of a kind that occur and have a price of their own. */
export function pricedDetails(
  { details: prices }: Price,
  of: keyof Tokens,
  details: TokenDetails | readonly bigint[],
) {
  if (!details || !prices) return [];
  return DETAILS.flatMap(([name, kind], i) => {
    const [count, price] = [details[i] ?? 0, prices[i]];
    return kind === of && count > 0 && price ? [{ name, count, price }] : [];
  });
}
