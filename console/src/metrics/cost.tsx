import { money } from '../ui/format.ts';
import type { Spending } from './stats.ts';

/** What calls cost; of more than one unit, each. What has no price is not in it. */
export function spendingText({ cost, inputTokens, outputTokens }: Spending): string {
  if (cost.size > 0) return [...cost].map(([unit, amount]) => money(amount, unit)).join(' + ');
  return inputTokens + outputTokens === 0 ? money(0) : '–';
}

/** For an order by cost: of more than one unit there is none, so the largest counts. */
export const costOrder = ({ cost }: Spending): number | null =>
  cost.size === 0 ? null : Math.max(...cost.values());
