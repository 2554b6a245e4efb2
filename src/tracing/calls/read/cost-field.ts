import { WIRE } from '../../../platform/http/wire-names.js';
import { column, InvalidQuery, type NamePrefix } from '../../../platform/query/columns.js';
import type { Parameter } from '../../../platform/query/sql.js';
import { totalCostOfCall } from '../../costs/costs.service.js';

/** Field for the cost of a call without its descendants: `totalCostOfCall`. */
export const TOTAL_COST = `summary.${WIRE.summary}.total_cost`;

/** Built-in prices in the form that `totalCostOfCall` takes, for all models of the calls in question. */
export type BuiltinPrices = Parameter;

export class NeedsPrices extends InvalidQuery {
  constructor(path: string) {
    super(
      path,
      `names ${TOTAL_COST}, by which only lists, counts, statistics, usage and datasets of calls can go: what reads the calls again later may find other prices`,
    );
  }
}

/** Returns the field for the cost of a call. It needs prices, which `CallPrices` finds. */
export const costField = (projectId: string, prices: BuiltinPrices | undefined): NamePrefix => {
  const cost = prices && column.number(totalCostOfCall(projectId, prices), { isSum: true });
  return (rest, place) => {
    if (rest.length > 0) return undefined;
    if (!cost) throw new NeedsPrices(place);
    return cost;
  };
};
