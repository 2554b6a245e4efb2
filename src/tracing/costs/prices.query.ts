// SQL: a part of the statements that read calls.
import { sql } from '../../platform/query/sql.js';

/**
 * For each model of the usage of the call `c`, the project's record that was in force when the call started, or null, by
 * name; null without usage. Prices are texts, so that no reader takes them for doubles. Of records with one effective_date
 * the latest id wins.
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
