// SQL: expressions inside statements that read calls.
import { identifier, join, type Parameter, sql, type Sql } from '../../platform/query/sql.js';
import { DETAILS, TOKEN_KINDS, type Tokens } from '../usage/tokens.js';

/** Matches calls (`c` by default) whose usage sums up that of other calls: docs/adr/0057-usage-with-descendants.md. */
export const addsUp = (call = sql`c`) =>
  sql`(coalesce(${call}.response_id, '') LIKE '~%' AND ${call}.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')`;

/** The usage of the call `c`; NULL when it sums up other calls. */
export const ownUsage = sql`(CASE WHEN NOT ${addsUp()} THEN c.usage END)`;

/**
 * Reads an object with the project's record for each model of the usage of the call `c`: the one in force when the call
 * started, or null. NULL without usage. Prices are texts, so that no reader parses them as doubles. Among records with
 * the same effective_date the latest id wins.
 */
export const pricesOfCall = (projectId: string) => sql`(
  SELECT json_object_agg(model.llm_id, (
    SELECT json_build_object(
      'id', p.id,
      'effective_date', to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'provider_id', p.provider_id,
      'prompt_token_cost', p.prompt_token_cost::text,
      'completion_token_cost', p.completion_token_cost::text,
      'cache_read_input_token_cost', p.cache_read_input_token_cost::text,
      'cache_creation_input_token_cost', p.cache_creation_input_token_cost::text,
      'prompt_token_cost_unit', p.prompt_token_cost_unit,
      'completion_token_cost_unit', p.completion_token_cost_unit)
    FROM costs p
    WHERE p.project_id = ${projectId} AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
    ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text))`;

/**
 * Returns the cost of one kind of tokens of the usage `u`, as `kindTotal`, but 0 for no tokens. `detailPrices` is an
 * array in the order of `DETAILS`, NULL for details that cost the same as their kind.
 */
export function kindCost(kind: keyof Tokens, price: Sql, detailPrices: Sql): Sql {
  const [bit, tokens] = [2 ** TOKEN_KINDS.indexOf(kind), sql`u.${identifier(kind)}`];
  const places = DETAILS.flatMap(([, of], i) => (of === kind ? [sql`[${i + 1}::int]`] : []));
  const sum = (part: (place: Sql) => Sql) => join(places.map(part), ' + ');
  const rest = sql`(${tokens} - ${sum((at) => sql`CASE WHEN ${detailPrices}${at} IS NULL THEN 0 ELSE u.details${at} END`)})`;
  return sql`
  CASE WHEN u.unknown_kinds & ${bit}::int <> 0 THEN NULL WHEN ${tokens} = 0 THEN 0
    WHEN u.details IS NULL OR ${detailPrices} IS NULL THEN ${tokens} * ${price}
    ELSE CASE WHEN ${rest} = 0 THEN 0 ELSE ${rest} * ${price} END
      + ${sum((at) => sql`coalesce(u.details${at} * ${detailPrices}${at}, 0)`)} END`;
}

/** Only built-in prices have prices of details. */
const BUILTIN_DETAILS = sql`builtin.details`;

/**
 * Returns the cost of the call `c`: the sum of each model's `total_cost` in `costsOfCall`. Models without a price are
 * left out. NULL when no model has a price, or when the units differ. `builtin` binds the result of
 * `CostsService.builtinPrices` for all models that may occur. A model outside of it has only the project's prices.
 */
export const totalCostOfCall = (projectId: string, builtin: Parameter) => sql`(
  SELECT CASE WHEN min(m.unit) = max(m.unit) THEN sum(m.cost) END FROM (
    SELECT CASE WHEN t.cost IS NOT NULL THEN coalesce(own.unit, builtin.unit) END AS unit, t.cost
    FROM skein_detailed_usage(${ownUsage}, c.counts_gross) u
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
