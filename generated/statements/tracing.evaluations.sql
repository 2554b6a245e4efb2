-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- eval-results.query:rootsQuery
SELECT c.id, CASE WHEN strpos(c.op_name, '/op/') > 0
  THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END AS op_name, c.display_name, c.trace_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, c.exception,
  CASE WHEN length((CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $1::text[])) <= 2048 THEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $1::text[]) END AS evaluation_ref, CASE WHEN length((CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) <= 2048 THEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[]) END AS model_ref
  FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($4::text[]));

-- eval-results.query:detailsQuery
SELECT json_build_object('id', s.id, 'output', coalesce(
  (CASE WHEN s.is_opaque THEN skein_safe_json(s.output) ELSE s.output END #> $1::text[]), (CASE WHEN s.is_opaque THEN skein_safe_json(s.output) ELSE s.output END #> $2::text[])), 'scores', s.scores, 'raw', NULL::json,
  'latency', coalesce(
  skein_number((CASE WHEN s.is_opaque THEN skein_safe_json(s.output) ELSE s.output END #>> $3::text[])),
  skein_number((CASE WHEN s.is_opaque THEN skein_safe_json(s.output) ELSE s.output END #>> $4::text[])))::float8, 'children', (SELECT CASE WHEN bool_or(c.is_much) THEN 'true'::json
  ELSE coalesce(json_agg(c.child ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much), '[]') END FROM (SELECT json_build_object('id', c.id, 'name', CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END, 'is_scorer', (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]), 'false') <> 'false')),
  'is_predict', coalesce((strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $7::text[])
  OR (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $8::text[]) = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $9::text[])), false), 'latency', (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) / 1000,
  'spent', CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross) END, 'spans', coalesce(
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #> $10::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #> $11::text[]),
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $12::text[]),
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $13::text[])), 'output', CASE WHEN NOT c.is_much AND (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]), 'false') <> 'false')) AND c.output IS NOT NULL AND (s.scores -> (CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END)) IS NULL THEN CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END END) AS child, c.is_much, c.started_at, c.id
  FROM (SELECT c.*, count(*) OVER () > $14::bigint
  OR sum(CASE WHEN (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]), 'false') <> 'false')) THEN CASE WHEN pg_column_size(c.output) <= 8192 THEN coalesce(pg_column_size(c.output)::bigint
  * CASE pg_column_compression(c.output) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) ELSE octet_length(c.output::text) END ELSE 0 END) OVER () > $15::bigint AS is_much
  FROM (SELECT c.id, c.op_name, c.started_at, c.ended_at, c.usage, c.counts_gross, c.is_opaque, c.attributes, c.inputs, c.output,
  c.summary, CASE WHEN strpos(c.op_name, '/op/') > 0
  THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END AS name FROM calls c
  WHERE c.project_id = $16 AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  LIMIT $17::bigint OFFSET 0) "c" OFFSET 0) "c") c), 'spent', s.spent, 'spans', s.spans)::text
  FROM unnest($18::text[]) r (id)
  CROSS JOIN LATERAL (SELECT c.id, c.inputs, c.output, c.is_opaque,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END #> $19::text[]) AS scores,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $20::text[]) AS example, CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross) END AS spent, coalesce(
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #> $10::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #> $11::text[]),
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $12::text[]),
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $13::text[])) AS spans
  FROM calls c WHERE c.project_id = $21 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = r.id OFFSET 0) "s"; -- a list

-- kept-trials.query:marksTake
DELETE FROM trial_marks WHERE project_id = $1 AND id = ANY(ARRAY(
  SELECT m.id FROM (
  SELECT m.id, sum(m.size) OVER (ORDER BY m.id) - m.size AS before FROM (
  SELECT m.id, cardinality(m.call_ids) + cardinality(m.run_ids) AS size FROM trial_marks m
  WHERE m.project_id = $2 ORDER BY m.id LIMIT $3::bigint) m) m
  WHERE m.before < $4::bigint))
  RETURNING call_ids, run_ids;

-- kept-trials.query:runStates
SELECT r.id, coalesce((SELECT strpos(c.op_name, 'Evaluation.evaluate') > 0 AND c.ended_at IS NOT NULL
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = r.id), false) AS is_finished, k.chunks, k.is_large
  FROM unnest($2::text[]) r (id)
  LEFT JOIN LATERAL (SELECT k.chunks, k.ids IS NULL AS is_large FROM kept_trials k
  WHERE k.project_id = $3 AND k.run_id = r.id AND k.chunk = 0 OFFSET 0) "k" ON true;

-- kept-trials.query:anyKept
SELECT FROM kept_trials WHERE project_id = $1 LIMIT 1;

-- trial-scan.query:scanQuery
WITH touched AS MATERIALIZED (
  SELECT m.call_ids, m.run_ids FROM trial_marks m WHERE m.project_id = $1 LIMIT $2::bigint),
  changed AS MATERIALIZED (
  SELECT unnest(m.run_ids) AS id FROM touched m
  UNION
  SELECT c.parent_id FROM (SELECT DISTINCT unnest(m.call_ids) AS id FROM touched m) m
  CROSS JOIN LATERAL (SELECT c.parent_id FROM calls c WHERE c.project_id = $3 AND c.id = m.id AND c.parent_id IS NOT NULL OFFSET 0) "c"),
  kept_runs AS MATERIALIZED (
  SELECT r.id FROM unnest($4::text[]) r (id)
  WHERE (SELECT count(*) FROM touched) <= $5::bigint AND r.id NOT IN (SELECT id FROM changed)
  AND EXISTS (SELECT FROM kept_trials k WHERE k.project_id = $6 AND k.run_id = r.id AND k.chunk = 0 AND k.ids IS NOT NULL)
  AND ($7::boolean OR NOT EXISTS (
  SELECT FROM kept_trials k WHERE k.project_id = $8 AND k.run_id = r.id AND k.full_scores IS NULL)))
  SELECT k.json FROM kept_runs r CROSS JOIN LATERAL (SELECT json_build_array(k.run_id, k.ids, k.digests, k.numbers, k.scores, (SELECT json_build_array(json_agg(CASE WHEN json_typeof(e.spent) = 'object' THEN (SELECT CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross, 'started_at', to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'records', (
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
  WHERE p.project_id = $9 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text))) END
  FROM (SELECT e.spent -> 'usage' AS usage, e.spent -> 'counts_gross' AS counts_gross,
  (e.spent ->> 'started_at')::timestamptz AS started_at) c) END ORDER BY e.n), json_agg(
  CASE WHEN json_typeof(e.judges) = 'array' THEN (SELECT json_agg(CASE WHEN json_typeof(j.value) = 'object' THEN (SELECT CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross, 'started_at', to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'records', (
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
  WHERE p.project_id = $10 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text))) END
  FROM (SELECT j.value -> 'usage' AS usage, j.value -> 'counts_gross' AS counts_gross,
  (j.value ->> 'started_at')::timestamptz AS started_at) c) END) FROM json_array_elements(e.judges) j) END
  ORDER BY e.n))
  FROM ROWS FROM (json_array_elements(k.spent -> 0), json_array_elements(k.spent -> 1)) WITH ORDINALITY e (spent, judges, n)))::text AS json FROM kept_trials k
  WHERE k.project_id = $11 AND k.run_id = r.id OFFSET 0) "k"
  UNION ALL
  (SELECT json_build_array(json_build_array(s.id, s.parent_id, s.digest, date_part('epoch', s.started_at), CASE WHEN json_typeof(s.scores) = 'object' THEN s.scores END, k.late, k.spent, k.latency, k.judges))::text FROM (
  SELECT r.id FROM unnest($12::text[]) r (id) WHERE r.id NOT IN (SELECT id FROM kept_runs)) r
  CROSS JOIN LATERAL (SELECT c.*, CASE WHEN starts_with(c.example_text, '{') OR strpos(c.example_text, $13) = 0 OR length(c.example_text) > 2048
  THEN coalesce(skein_content_sha256(c.example_text), '') ELSE split_part(c.example_text, $14, 2) END AS digest FROM (SELECT c.id, c.parent_id, c.started_at, c.is_opaque, c.inputs, c.output, (CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END #> $15::text[]) AS scores,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $16::text[]) AS example_text
  FROM calls c WHERE c.project_id = $17 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = r.id AND skein_is_trial(c.op_name) OFFSET 0) "c" OFFSET 0) "s"
  CROSS JOIN LATERAL (SELECT CASE WHEN bool_or(c.is_much) THEN 'true'::json ELSE json_object_agg(CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END, CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $18::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $19::text[]), 'false') <> 'false')) AND c.output IS NOT NULL AND (s.scores -> (CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END)) IS NULL) END AS late, (array_agg(CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross, 'started_at', to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'records', (
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
  WHERE p.project_id = $20 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text))) END ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND (strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $21::text[])
  OR (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $22::text[]) = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $23::text[])) AND NOT (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $18::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $19::text[]), 'false') <> 'false'))))[1] AS spent, coalesce((array_agg((CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) / 1000 ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND (strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $21::text[])
  OR (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $22::text[]) = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $23::text[])) AND NOT (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $18::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $19::text[]), 'false') <> 'false'))))[1], coalesce(
  skein_number((CASE WHEN s.is_opaque THEN skein_safe_json(s.output) ELSE s.output END #>> $24::text[])),
  skein_number((CASE WHEN s.is_opaque THEN skein_safe_json(s.output) ELSE s.output END #>> $25::text[])))::float8) AS latency, json_agg(CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross, 'started_at', to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'records', (
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
  WHERE p.project_id = $26 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text))) END) FILTER (WHERE (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $18::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $19::text[]), 'false') <> 'false')) AND c.usage IS NOT NULL) AS judges FROM (SELECT c.*, count(*) OVER () > $27::bigint
  OR sum(CASE WHEN (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $18::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $19::text[]), 'false') <> 'false')) THEN CASE WHEN pg_column_size(c.output) <= 8192 THEN coalesce(pg_column_size(c.output)::bigint
  * CASE pg_column_compression(c.output) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) ELSE octet_length(c.output::text) END ELSE 0 END) OVER () > $28::bigint AS is_much
  FROM (SELECT c.id, c.op_name, c.started_at, c.ended_at, c.usage, c.counts_gross, c.is_opaque, c.attributes, c.inputs, c.output,
  c.summary, CASE WHEN strpos(c.op_name, '/op/') > 0
  THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END AS name FROM calls c
  WHERE c.project_id = $29 AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  LIMIT $30::bigint OFFSET 0) "c" OFFSET 0) "c" OFFSET 0) "k"  LIMIT $31::bigint); -- a list

WITH touched AS MATERIALIZED (
  SELECT m.call_ids, m.run_ids FROM trial_marks m WHERE m.project_id = $1 LIMIT $2::bigint),
  changed AS MATERIALIZED (
  SELECT unnest(m.run_ids) AS id FROM touched m
  UNION
  SELECT c.parent_id FROM (SELECT DISTINCT unnest(m.call_ids) AS id FROM touched m) m
  CROSS JOIN LATERAL (SELECT c.parent_id FROM calls c WHERE c.project_id = $3 AND c.id = m.id AND c.parent_id IS NOT NULL OFFSET 0) "c"),
  kept_runs AS MATERIALIZED (
  SELECT r.id FROM unnest($4::text[]) r (id)
  WHERE (SELECT count(*) FROM touched) <= $5::bigint AND r.id NOT IN (SELECT id FROM changed)
  AND EXISTS (SELECT FROM kept_trials k WHERE k.project_id = $6 AND k.run_id = r.id AND k.chunk = 0 AND k.ids IS NOT NULL)
  AND ($7::boolean OR NOT EXISTS (
  SELECT FROM kept_trials k WHERE k.project_id = $8 AND k.run_id = r.id AND k.full_scores IS NULL)))
  SELECT k.json FROM kept_runs r CROSS JOIN LATERAL (SELECT json_build_array(k.run_id, k.ids, k.digests, k.numbers, k.scores, NULL::json)::text AS json FROM kept_trials k
  WHERE k.project_id = $9 AND k.run_id = r.id OFFSET 0) "k"
  UNION ALL
  (SELECT json_build_array(json_build_array(s.id, s.parent_id, s.digest, date_part('epoch', s.started_at), CASE WHEN json_typeof(s.scores) = 'object' THEN s.scores END, k.late, k.spent, k.latency, k.judges))::text FROM (
  SELECT r.id FROM unnest($10::text[]) r (id) WHERE r.id NOT IN (SELECT id FROM kept_runs)) r
  CROSS JOIN LATERAL (SELECT c.*, CASE WHEN starts_with(c.example_text, '{') OR strpos(c.example_text, $11) = 0 OR length(c.example_text) > 2048
  THEN coalesce(skein_content_sha256(c.example_text), '') ELSE split_part(c.example_text, $12, 2) END AS digest FROM (SELECT c.id, c.parent_id, c.started_at, c.is_opaque, c.inputs, c.output, (CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END #> $13::text[]) AS scores,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $14::text[]) AS example_text
  FROM calls c WHERE c.project_id = $15 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = r.id AND skein_is_trial(c.op_name) OFFSET 0) "c" OFFSET 0) "s"
  CROSS JOIN LATERAL (SELECT CASE WHEN bool_or(c.is_much) THEN 'true'::json ELSE json_object_agg(CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END, CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $16::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $17::text[]), 'false') <> 'false')) AND c.output IS NOT NULL AND (s.scores -> (CASE WHEN right(c.name, 6) = '.score' THEN left(c.name, -6) ELSE c.name END)) IS NULL) END AS late, (array_agg(CASE WHEN c.usage IS NOT NULL THEN json_build_object('usage', c.usage, 'counts_gross', c.counts_gross) END ORDER BY c.started_at, c.id) FILTER (WHERE NOT c.is_much AND (strpos(lower(c.name), 'predict') > 0 OR strpos(lower(c.name), 'invoke') > 0
  OR c.op_name = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $18::text[])
  OR (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $19::text[]) = (CASE WHEN s.is_opaque THEN skein_safe_json(s.inputs) ELSE s.inputs END #>> $20::text[])) AND NOT (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $16::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $17::text[]), 'false') <> 'false'))))[1] AS spent, NULL::float8 AS latency, NULL::json AS judges FROM (SELECT c.*, count(*) OVER () > $21::bigint
  OR sum(CASE WHEN (strpos(c.name, '.score') > 0 OR strpos(lower(c.name), 'scorer') > 0
  OR strpos(c.attributes::text, '"score"') > 0 AND (
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $16::text[]), 'false') <> 'false'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $17::text[]), 'false') <> 'false')) THEN CASE WHEN pg_column_size(c.output) <= 8192 THEN coalesce(pg_column_size(c.output)::bigint
  * CASE pg_column_compression(c.output) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) ELSE octet_length(c.output::text) END ELSE 0 END) OVER () > $22::bigint AS is_much
  FROM (SELECT c.id, c.op_name, c.started_at, c.ended_at, c.usage, c.counts_gross, c.is_opaque, c.attributes, c.inputs, c.output,
  c.summary, CASE WHEN strpos(c.op_name, '/op/') > 0
  THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END AS name FROM calls c
  WHERE c.project_id = $23 AND c.parent_id = s.id AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  LIMIT $24::bigint OFFSET 0) "c" OFFSET 0) "c" OFFSET 0) "k"  LIMIT $25::bigint); -- a list
