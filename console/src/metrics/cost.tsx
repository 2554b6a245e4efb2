import { money } from '../ui/format.ts';
import type { Spending } from './stats.ts';

/** Prints costs, one amount for each currency unit. Calls without a price are not included. */
export function spendingText({ cost, inputTokens, outputTokens }: Spending): string {
  if (cost.size > 0) return [...cost].map(([unit, amount]) => money(amount, unit)).join(' + ');
  return inputTokens + outputTokens === 0 ? money(0) : '–';
}

/** The number to sort costs by. Amounts of several units cannot be added, so the largest one is used. */
export const costOrder = ({ cost }: Spending): number | null =>
  cost.size === 0 ? null : Math.max(...cost.values());
