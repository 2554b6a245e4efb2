import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { ApiError } from '../../../platform/errors.js';
import { InvalidQuery } from '../../../platform/query/columns.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { Parameter } from '../../../platform/query/sql.js';
import { builtinCells } from '../../pricing/builtin-prices.js';
import { hasPlainName } from '../../pricing/price.js';
import type { Price } from '../../pricing/price-kinds.js';
import { modelsQuery } from './call-prices.query.js';
import { NeedsPrices, type BuiltinPrices, totalCostField } from './cost-field.js';
import type { CallSelection } from './calls.query.js';

/** Maximum number of models in a request on costs. To price a model for the first time takes some 0.2 ms. */
const MAX_MODELS = 1000;
/** Maximum number of conditions on costs in a request. Each takes some 50 us for each call. */
const MAX_NAMED = 10;

/** Finds the built-in prices for a request that names the cost of calls. */
@Injectable()
export class CallPrices {
  constructor(private readonly database: Database) {}

  /**
   * Compiles a request. If that needs prices, a separate statement first reads the models of the calls in question. A
   * call that is stored between the two statements, with a model that no call had before, has no cost, as if it
   * reported its usage later. Prices of the project are read with the calls themselves.
   * @throws ApiError `too_large`, InvalidQuery
   */
  async compiled<T>(request: CallSelection, compile: (prices?: BuiltinPrices) => T): Promise<T> {
    try {
      return compile();
    } catch (error) {
      if (!(error instanceof NeedsPrices)) throw error;
    }
    if (JSON.stringify(request.query ?? {}).split('total_cost').length - 1 > MAX_NAMED)
      throw new InvalidQuery(
        'query',
        `must not name ${totalCostField()} more than ${MAX_NAMED} times`,
      );
    const query = modelsQuery(request, MAX_MODELS + 1);
    const models = await this.database.query(query, { long: 'read' });
    if (models.length > MAX_MODELS)
      throw new ApiError(
        'too_large',
        `the calls used over ${MAX_MODELS} models, too many for ${totalCostField()}: add a condition on started_at or op_name to the others`,
      );
    return compile(new Parameter(await builtinPrices(models.map(({ llm_id }) => llm_id))));
  }
}

/** Returns the built-in prices of models as JSON text, keyed by name, for `totalCostOfCall`. */
async function builtinPrices(llmIds: readonly string[]): Promise<string> {
  const models = await mapYielding(llmIds, (llmId): [string, object[]] => {
    const cells = hasPlainName(llmId) ? builtinCells(llmId) : [];
    return [
      llmId,
      cells.map(({ price, ...cell }) => ({ ...cell, ...(price && priceTexts(price)) })),
    ];
  });
  return JSON.stringify(Object.fromEntries(models.filter(([, cells]) => cells.length > 0)));
}

/** Prints prices as texts, so that no reader parses them as doubles. */
const priceTexts = (price: Price) => ({
  unit: price.prompt_token_cost_unit,
  prompt: price.prompt_token_cost?.toString(),
  completion: price.completion_token_cost?.toString(),
  cache_read: price.cache_read_input_token_cost?.toString(),
  cache_creation: price.cache_creation_input_token_cost?.toString(),
  ...(price.details && { details: price.details.map((one) => one?.toString() ?? null) }),
});
