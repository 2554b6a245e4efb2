import { WIRE } from '../../../platform/http/wire-names.js';
import { column, InvalidQuery, type NamePrefix } from '../../../platform/query/columns.js';
import type { Parameter } from '../../../platform/query/sql.js';
import { totalCostOfCall } from '../../costs/costs.service.js';

/** What a call cost, itself: `totalCostOfCall`. */
export const TOTAL_COST = `summary.${WIRE.summary}.total_cost`;

/** Built-in prices as `totalCostOfCall` takes them, of all models that the calls at hand used. */
export type BuiltinPrices = Parameter;

/** A request names the cost of calls, and was compiled without prices. */
export class NeedsPrices extends InvalidQuery {
  constructor(path: string) {
    super(
      path,
      `names ${TOTAL_COST}, by which only lists, counts, statistics, usage and datasets of calls can go: what reads the calls again later may find other prices`,
    );
  }
}

/** Only with prices: `CallPrices` has them. */
export const costField = (projectId: string, prices: BuiltinPrices | undefined): NamePrefix => {
  const cost = prices && column.number(totalCostOfCall(projectId, prices), { isSum: true });
  return (rest, place) => {
    if (rest.length > 0) return undefined;
    if (!cost) throw new NeedsPrices(place);
    return cost;
  };
};
