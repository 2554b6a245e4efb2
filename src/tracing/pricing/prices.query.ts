// SQL: expressions inside statements that read calls.
import { identifier, join, sql, type Sql } from '../../platform/query/sql.js';
import { DETAILS, TOKEN_KINDS, type Tokens } from '../usage/tokens.js';

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
