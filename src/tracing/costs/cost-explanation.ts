import { Decimal } from '../../platform/json/decimal.js';
import { grandTotal, type PricedUsage, priceRecord } from '../pricing/price.js';
import { PRICE_KINDS, pricedDetails } from '../pricing/price-kinds.js';

/** Explains the cost of one model of a call, term by term, in numbers and in words. */
export function explanation(usage: PricedUsage, startedAt: string) {
  const { llmId, tokens, details, unknown, price } = usage;
  const isSpent = ([count]: (typeof PRICE_KINDS)[number], i: number) =>
    i < 2 || tokens[count] > 0 || unknown.has(count);
  const terms = PRICE_KINDS.filter(isSpent).flatMap((kind) => {
    const [count, cost] = kind;
    const unit = price ? tokenPrice(count, price) : null;
    const term = (kind: string, tokens: number, unit_price: Decimal | null) => {
      const total = unknown.has(count) ? null : (unit_price?.times(tokens) ?? null);
      const name = kind.replaceAll('_', ' ');
      const text = unknown.has(count)
        ? `an unknown number of ${name}: the usage holds no count that can be read`
        : termText(`${tokens} ${name}`, unit_price, total, unit);
      return { kind, tokens, unit_price, unit, total, text };
    };
    const priced = price && !unknown.has(count) ? pricedDetails(price, count, details) : [];
    const rest = priced.reduce((left, { count }) => left - Number(count), tokens[count]);
    const own = priced.map((each) => term(each.name, Number(each.count), each.price));
    return [
      ...(rest > 0 || own.length === 0 ? [term(count, rest, price?.[cost] ?? null)] : []),
      ...own,
    ];
  });
  const total = grandTotal(usage);
  return {
    llm_id: llmId,
    terms,
    total_cost: total,
    unit: total ? price!.prompt_token_cost_unit : null,
    record: price && priceRecord(price),
    pricing_level: priceRecord(price).pricing_level,
    why: why(usage, startedAt),
  };
}

const tokenPrice = (count: string, price: NonNullable<PricedUsage['price']>) =>
  count === 'completion_tokens' ? price.completion_token_cost_unit : price.prompt_token_cost_unit;

const termText = (
  tokens: string,
  price: Decimal | null,
  total: Decimal | null,
  unit: string | null,
) =>
  price && total
    ? `${tokens} × ${price.toString()} ${unit} = ${total.toString()} ${unit}`
    : `${tokens}, without a price`;

function why({ llmId, price }: PricedUsage, startedAt: string): string {
  if (!price)
    return `Neither a record of the project nor the built-in prices cover ${llmId} at the call's start, ${startedAt}. What it cost is unknown, not 0.`;
  if (price.pricing_level === 'project')
    return `Of the project's records for ${llmId}, this one has the latest effective_date, ${price.effective_date}, that is not after the call's start, ${startedAt}. Records of the project come before built-in prices.`;
  const since = price.effective_date ? `, since ${price.effective_date}` : '';
  return `The project has no record for ${llmId} that was in force at the call's start, ${startedAt}. The built-in prices know it as ${price.id}${since}.`;
}
