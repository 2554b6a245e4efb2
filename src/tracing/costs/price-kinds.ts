import type { Decimal } from '../../platform/json/decimal.js';

/** The kinds of tokens, each with its price and its total. */
export const KINDS = [
  ['prompt_tokens', 'prompt_token_cost', 'prompt_tokens_total_cost'],
  ['completion_tokens', 'completion_token_cost', 'completion_tokens_total_cost'],
  ['cache_read_input_tokens', 'cache_read_input_token_cost', 'cache_read_input_tokens_total_cost'],
  [
    'cache_creation_input_tokens',
    'cache_creation_input_token_cost',
    'cache_creation_input_tokens_total_cost',
  ],
] as const;
export type PriceKind = (typeof KINDS)[number];

/** The columns of prices, as they are called on the wire too. */
export type PriceName = PriceKind[1];
export const PRICES: readonly PriceName[] = KINDS.map(([, name]) => name);

/** The price of a token of each kind in one record; null where it has none. */
export interface Price extends Record<PriceName, Decimal | null> {
  id: string;
  pricing_level: 'project' | 'builtin';
  effective_date: string | null;
  provider_id: string;
  prompt_token_cost_unit: string;
  completion_token_cost_unit: string;
}
