-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- costs.query:insertQuery
INSERT INTO costs (project_id, id, llm_id, effective_date, provider_id, prompt_token_cost, completion_token_cost,
  cache_read_input_token_cost, cache_creation_input_token_cost, prompt_token_cost_unit, completion_token_cost_unit)
  SELECT $1, id, llm_id, coalesce(effective_date, now()), coalesce(provider_id, 'default'), prompt, completion,
  cache_read, cache_creation, coalesce(prompt_unit, 'USD'), coalesce(completion_unit, 'USD')
  FROM unnest($2::text[], $3::text[], $4::timestamptz[],
  $5::text[], $6::numeric[], $7::numeric[],
  $8::numeric[], $9::numeric[],
  $10::text[], $11::text[])
  AS t (id, llm_id, effective_date, provider_id, prompt, completion, cache_read, cache_creation, prompt_unit, completion_unit);

-- costs.query:costsQuery
SELECT row_to_json(t)::text AS json FROM (
  SELECT p.id AS "id", p.llm_id AS "llm_id", p.prompt_token_cost AS "prompt_token_cost", p.completion_token_cost AS "completion_token_cost", p.prompt_token_cost_unit AS "prompt_token_cost_unit", p.completion_token_cost_unit AS "completion_token_cost_unit", to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "effective_date", p.provider_id AS "provider_id", p.cache_read_input_token_cost AS "cache_read_input_token_cost", p.cache_creation_input_token_cost AS "cache_creation_input_token_cost" FROM costs p WHERE p.project_id = $1
  ORDER BY p.llm_id COLLATE "C" ASC NULLS LAST, p.effective_date DESC, p.id COLLATE "C" ASC NULLS LAST
  LIMIT $2::bigint OFFSET $3::bigint) t; -- a list

-- costs.query:purgeQuery
WITH gone AS (DELETE FROM costs p WHERE p.project_id = $1 AND (p.llm_id = $2::text) RETURNING 1)
  SELECT count(*)::int AS num_purged FROM gone;

-- costs.query:usageQuery
SELECT row_to_json(t)::text FROM (SELECT c.id, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  c.usage, c.counts_gross, (
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
  WHERE p.project_id = $1 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records
  FROM calls c
  WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($3::text[]))) t; -- a list

-- costs.query:changesQuery
SELECT DISTINCT to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM costs p
  WHERE p.project_id = $1 AND p.effective_date > $2::timestamptz AND p.effective_date < $3::timestamptz
  ORDER BY 1 LIMIT $4::bigint;

-- costs.query:bookQuery
SELECT m.llm_id, p.* FROM unnest($1::text[]) AS m (llm_id) CROSS JOIN LATERAL (
  SELECT DISTINCT ON (segment) width_bucket(p.effective_date, $2::timestamptz[]) AS segment, p.id,
  to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS effective_date, p.provider_id, p.prompt_token_cost, p.completion_token_cost,
  p.cache_read_input_token_cost, p.cache_creation_input_token_cost, p.prompt_token_cost_unit, p.completion_token_cost_unit
  FROM costs p WHERE p.project_id = $3 AND p.llm_id = m.llm_id AND p.effective_date < $4::timestamptz
  ORDER BY segment, p.effective_date DESC, p.id DESC) p
  ORDER BY m.llm_id, p.segment;
