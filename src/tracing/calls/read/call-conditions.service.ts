import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { ApiError, isTimeout } from '../../../platform/errors.js';
import { InvalidQuery } from '../../../platform/query/columns.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { Parameter, sql } from '../../../platform/query/sql.js';
import { builtinCells } from '../../pricing/builtin-prices.js';
import { hasPlainName } from '../../pricing/price.js';
import type { Price } from '../../pricing/price-kinds.js';
import { modelsQuery } from './call-prices.query.js';
import { KnownRelations, type RelatedIds, type RelationProbe } from './call-relations.js';
import { type BuiltinPrices, NeedsPrices, totalCostField } from './cost-field.js';
import { CallTextSearch } from '../texts/text-search.service.js';
import type { CallSelection, ReadAhead } from './calls.query.js';

/** Maximum number of models in a request on costs. To price a model for the first time takes some 0.2 ms. */
const MAX_MODELS = 1000;
/** Maximum number of conditions on costs in a request. Each takes some 50 us for each call. */
const MAX_NAMED = 10;
/** Time in which the calls that fulfil the condition of a relation must be found. */
const PROBE_MS = 1000;

/** Reads what a request on calls needs to know before its statement can be compiled. */
@Injectable()
export class CallConditions {
  constructor(
    private readonly database: Database,
    private readonly texts: CallTextSearch,
  ) {}

  /**
   * Compiles a request. Separate statements first find the calls that may say the texts of the query, and those that
   * fulfil relations. They also read the models of the calls in question if a condition names their cost. Calls that
   * are stored between the statements may be left out, as if they arrived later. Prices are read with the calls.
   * @throws ApiError `too_large`, InvalidQuery
   */
  async compiled<T>(request: CallSelection, compile: (ahead: ReadAhead) => T): Promise<T> {
    const relations = new KnownRelations(request.filter?.trace_ids);
    let ahead: ReadAhead = { relations };
    for (;;) {
      try {
        const made = compile(ahead);
        const probe = relations.take();
        if (!probe) return (await this.withTexts(request, compile, ahead)) ?? made;
        relations.set(probe, await this.probe(probe));
      } catch (error) {
        if (!(error instanceof NeedsPrices) || ahead.prices) throw error;
        relations.take();
        ahead = { relations, prices: await this.prices(request) };
      }
    }
  }

  /** Compiles a valid request again if the index of texts finds calls. */
  private async withTexts<T>(
    request: CallSelection,
    compile: (ahead: ReadAhead) => T,
    ahead: ReadAhead,
  ): Promise<T | undefined> {
    const texts = await this.texts.first(request);
    if (!texts) return undefined;
    const candidates = texts.until === null ? texts.ids : undefined;
    return compile({ ...ahead, texts, candidates });
  }

  /** Returns null if the calls took too long to find. */
  private async probe({ query }: RelationProbe): Promise<RelatedIds | null> {
    try {
      return await this.database.transaction({ long: 'read' }, async () => {
        await this.database.query(
          sql`SELECT set_config('statement_timeout', ${String(PROBE_MS)}, true)`,
        );
        return this.database.query(query);
      });
    } catch (error) {
      if (isTimeout(error)) return null;
      throw error;
    }
  }

  private async prices(request: CallSelection): Promise<BuiltinPrices> {
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
    return new Parameter(await builtinPrices(models.map(({ llm_id }) => llm_id)));
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
