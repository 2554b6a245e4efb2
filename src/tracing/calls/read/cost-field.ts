import { column, InvalidQuery, type NamePrefix } from '../../../platform/query/columns.js';
import { type Parameter, sql } from '../../../platform/query/sql.js';
import { kindCost } from '../../pricing/prices.query.js';
import { ownUsageRows } from '../../usage/own-usage.query.js';
import { derivedField } from './derived-field.js';

/** Returns the field for the cost of a call without its descendants: `totalCostOfCall`. */
export const totalCostField = () => derivedField('total_cost');

/** Built-in prices in the form that `totalCostOfCall` takes, for all models of the calls in question. */
export type BuiltinPrices = Parameter;

export class NeedsPrices extends InvalidQuery {
  constructor(path: string) {
    super(
      path,
      `names ${totalCostField()}, which only lists, counts, statistics, usage and datasets of calls can use: prices may change before a later read`,
    );
  }
}

/** Only built-in prices have prices of details. */
const BUILTIN_DETAILS = sql`builtin.details`;

/**
 * Returns the cost of the call `c`: the sum of each model's `total_cost` in `costsOfCall`. Models without a price are
 * left out. NULL when no model has a price, or when the units differ. `builtin` binds the result of
 * `builtinPrices` for all models that may occur. A model outside of it has only the project's prices.
 */
const totalCostOfCall = (projectId: string, builtin: BuiltinPrices) => sql`(
  SELECT CASE WHEN min(m.unit) = max(m.unit) THEN sum(m.cost) END FROM (
    SELECT CASE WHEN t.cost IS NOT NULL THEN coalesce(own.unit, builtin.unit) END AS unit, t.cost
    FROM ${ownUsageRows} u
    LEFT JOIN LATERAL (
      SELECT p.id, CASE WHEN p.prompt_token_cost_unit = p.completion_token_cost_unit THEN p.prompt_token_cost_unit END AS unit,
        p.prompt_token_cost AS prompt, p.completion_token_cost AS completion,
        coalesce(p.cache_read_input_token_cost, p.prompt_token_cost) AS cache_read,
        coalesce(p.cache_creation_input_token_cost, p.prompt_token_cost) AS cache_creation
      FROM costs p
      WHERE p.project_id = ${projectId} AND p.llm_id = u.llm_id AND p.effective_date <= c.started_at
      ORDER BY p.effective_date DESC, p.id DESC LIMIT 1) own ON TRUE
    LEFT JOIN LATERAL (
      SELECT p.* FROM jsonb_to_recordset(${builtin}::jsonb -> u.llm_id) AS p (since timestamptz, time time, tier bigint,
        unit text, prompt numeric, completion numeric, cache_read numeric, cache_creation numeric, details numeric[])
      WHERE own.id IS NULL AND p.since <= c.started_at AND p.time <= (c.started_at AT TIME ZONE 'UTC')::time
        AND p.tier <= u.input_tokens
      ORDER BY p.since DESC, p.time DESC, p.tier DESC LIMIT 1) builtin ON TRUE
    CROSS JOIN LATERAL (
      SELECT CASE WHEN coalesce(own.unit, builtin.unit) IS NOT NULL THEN
        ${kindCost('prompt_tokens', sql`coalesce(own.prompt, builtin.prompt)`, BUILTIN_DETAILS)}
        + ${kindCost('completion_tokens', sql`coalesce(own.completion, builtin.completion)`, BUILTIN_DETAILS)}
        + ${kindCost('cache_read_input_tokens', sql`coalesce(own.cache_read, builtin.cache_read)`, BUILTIN_DETAILS)}
        + ${kindCost('cache_creation_input_tokens', sql`coalesce(own.cache_creation, builtin.cache_creation)`, BUILTIN_DETAILS)}
      END AS cost) t) m)`;

/** Returns the field for the cost of a call. It needs prices, which `CallConditions` finds. */
export const costField = (projectId: string, prices: BuiltinPrices | undefined): NamePrefix => {
  const cost = prices && column.number(totalCostOfCall(projectId, prices), { isSum: true });
  return (rest, place) => {
    if (rest.length > 0) return undefined;
    if (!cost) throw new NeedsPrices(place);
    return cost;
  };
};
