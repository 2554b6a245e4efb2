-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- builds.query:buildInsert
INSERT INTO builds (project_id, id, recipe_name, recipe_digest, recipe, mode, builder_version, as_of, digest,
  manifest_digest, num_chunks, counts, lints, facts, user_id)
  VALUES ($1, $2, $3, $4, $5::json,
  $6, $7, $8::timestamptz, $9, $10,
  $11, $12::json, $13::json, $14::json, $15);

-- builds.query:chunkInsert
INSERT INTO build_chunks (project_id, build_id, seq, split, text)
  VALUES ($1, $2, $3, $4, $5);

-- builds.query:inputsInsert
INSERT INTO build_inputs (project_id, build_id, kind, id, sha256)
  SELECT $1, $2::uuid, i.* FROM unnest($3::text[],
  $4::text[], $5::text[]) i
  ON CONFLICT DO NOTHING;

-- builds.query:unitsInsert
INSERT INTO build_units (project_id, build_id, group_index, trajectory_index, split, unit_id, call_id, reward)
  SELECT $1, $2::uuid, $3::int, u.place - 1, $4, u.unit_id, u.call_id, u.reward
  FROM unnest($5::text[],
  $6::text[],
  $7::float8[])
  WITH ORDINALITY u (unit_id, call_id, reward, place);

-- builds.query:manifestQuery
SELECT kind, id, sha256 FROM build_inputs WHERE project_id = $1 AND build_id = $2
  AND (kind, id) > ($3, $4)
  ORDER BY kind, id LIMIT 5000;

SELECT kind, id, sha256 FROM build_inputs WHERE project_id = $1 AND build_id = $2
  ORDER BY kind, id LIMIT 5000;

-- builds.query:buildQuery
SELECT id, recipe_name, recipe_digest, recipe::text AS recipe, num_chunks, erased_at IS NOT NULL AS is_erased
  FROM builds WHERE project_id = $1 AND id = $2::uuid;

-- builds.query:chunksQuery
SELECT seq, split, text FROM build_chunks
  WHERE project_id = $1 AND build_id = $2::uuid AND seq > $3 ORDER BY seq LIMIT 4;

-- builds.query:jobInsert
INSERT INTO build_jobs (project_id, build_id, job_id, log_batch_id)
  VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

-- builds.query:buildsQuery
SELECT json_build_object('id', b.id, 'project_id', b.project_id, 'recipe_name', b.recipe_name,
  'recipe_digest', b.recipe_digest, 'mode', b.mode, 'builder_version', b.builder_version,
  'as_of', to_char(b.as_of AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'digest', b.digest, 'manifest_digest', b.manifest_digest,
  'counts', b.counts, 'lints', b.lints, 'facts', b.facts, 'jobs', (
  SELECT coalesce(json_agg(json_build_object('job_id', bj.job_id, 'model_id', j.model_id, 'status', j.status,
  'step', j.step, 'erased_at', to_char(bj.erased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ORDER BY bj.created_at, bj.job_id), '[]'::json)
  FROM build_jobs bj LEFT JOIN training_jobs j ON j.project_id = $1 AND j.id = bj.job_id
  WHERE bj.project_id = $2 AND bj.build_id = b.id),
  $3::text, b.user_id, 'created_at', to_char(b.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'erased_at', to_char(b.erased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text
  FROM builds b
  WHERE b.project_id = $4
  ORDER BY b.created_at ASC NULLS LAST, b.id::text COLLATE "C" ASC NULLS LAST
  LIMIT $5::bigint OFFSET $6::bigint; -- a list

-- builds.query:buildsForget
UPDATE builds SET erased_at = statement_timestamp()
  WHERE project_id = $1 AND id = ANY($2::uuid[]) AND erased_at IS NULL RETURNING id;

-- builds.query:goneCalls
SELECT i.id FROM build_inputs i LEFT JOIN calls c ON c.project_id = $1 AND c.id = i.id
  WHERE i.project_id = $2 AND i.build_id = $3 AND i.kind = 'call'
  AND (c.id IS NULL OR c.deleted_at IS NOT NULL OR CASE WHEN CASE WHEN c.output IS NULL AND pg_column_size(c.inputs) < 16 AND pg_column_size(c.attributes) < 16
  THEN c.inputs::text = '{}' AND c.attributes::text = '{}' ELSE false END THEN i.sha256 <> encode(sha256(convert_to(coalesce(octet_length(c.id) || ':' || c.id, '-') || coalesce(octet_length(c.op_name) || ':' || c.op_name, '-') || coalesce(octet_length(to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) || ':' || to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '-') || coalesce(octet_length(c.exception) || ':' || c.exception, '-') || coalesce(octet_length(c.attributes::text) || ':' || c.attributes::text, '-') || coalesce(octet_length(c.inputs::text) || ':' || c.inputs::text, '-') || coalesce(octet_length(c.output::text) || ':' || c.output::text, '-') || coalesce(octet_length((CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $4::text[])::text) || ':' || (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $4::text[])::text, '-'), 'UTF8')), 'hex') END)
  LIMIT 1;

-- builds.query:chunksForget
DELETE FROM build_chunks WHERE project_id = $1 AND build_id = ANY($2::uuid[]);

-- builds.query:jobsForget
UPDATE build_jobs bj SET erased_at = statement_timestamp()
  WHERE bj.project_id = $1 AND bj.build_id = ANY($2::uuid[]) AND bj.erased_at IS NULL
  RETURNING bj.job_id, bj.log_batch_id;

-- lineage.query:inputsOfBuilds
SELECT i.kind, i.id, i.build_id FROM build_inputs i
  WHERE i.project_id = $1 AND i.build_id = ANY($2::uuid[])
  ORDER BY i.build_id, i.kind, i.id LIMIT $3;

-- lineage.query:jobs
SELECT bj.build_id, j.id AS job_id, j.model_id, m.name AS model, j.step, j.parent_step
  FROM training_jobs j
  LEFT JOIN build_jobs bj ON bj.project_id = $1 AND bj.job_id = j.id
  LEFT JOIN models m ON m.project_id = $2 AND m.id = j.model_id
  WHERE j.project_id = $3 AND j.id = ANY(ARRAY(SELECT job_id FROM build_jobs
  WHERE project_id = $4 AND build_id = ANY($5::uuid[]))) ORDER BY j.id, bj.build_id LIMIT $6;

-- lineage.query:marksQuery
SELECT 'build ' || id AS node, to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS tainted_at FROM builds
  WHERE project_id = $1 AND id = ANY($2::uuid[]) AND tainted_at IS NOT NULL
  UNION ALL
  SELECT 'job ' || id, to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM training_jobs
  WHERE project_id = $3 AND id = ANY($4::uuid[]) AND tainted_at IS NOT NULL
  UNION ALL
  SELECT 'checkpoint ' || model_id || ' ' || step, to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM checkpoints
  WHERE project_id = $5 AND model_id = ANY($6::uuid[]) AND tainted_at IS NOT NULL;

-- lineage.query:makersQuery
SELECT j.id AS job_id, j.step, j.parent_step, j.tainted_at IS NOT NULL AS is_tainted,
  (SELECT bj.build_id FROM build_jobs bj WHERE bj.project_id = $1 AND bj.job_id = j.id AND j.kind = 'rl'
  ORDER BY bj.created_at, bj.build_id LIMIT 1) AS build_id
  FROM training_jobs j
  WHERE j.project_id = $2 AND j.model_id = $3 AND j.step <= $4
  ORDER BY j.step DESC;

-- units.query:asOfQuery
SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS as_of;

-- units.query:unitsQuery
SELECT c.id, c.trace_id, c.thread_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at
  FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $2 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $3 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $4 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $5::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AND (c.op_name = ANY($6::text[]))
  ORDER BY c.started_at DESC, c.id DESC LIMIT $7::bigint;

SELECT c.id, c.trace_id, c.thread_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at
  FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $2 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $3 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $4 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $5::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AND (c.op_name = ANY($6::text[])) AND c.id IN (SELECT u.unit_id FROM build_units u WHERE u.project_id = $7 AND u.build_id = $8::uuid)
  ORDER BY c.started_at DESC, c.id DESC LIMIT $9::bigint;

-- units.query:keysQuery
SELECT c.id, ARRAY[CASE WHEN length((CASE WHEN c.is_opaque THEN skein_safe_json(c."attributes") ELSE c."attributes" END #>> $1::text[])::text) > 200
  THEN 'sha256:' || encode(sha256(convert_to((CASE WHEN c.is_opaque THEN skein_safe_json(c."attributes") ELSE c."attributes" END #>> $1::text[])::text, 'UTF8')), 'hex') ELSE (CASE WHEN c.is_opaque THEN skein_safe_json(c."attributes") ELSE c."attributes" END #>> $1::text[])::text END]::text[] AS keys FROM calls c
  WHERE c.project_id = $2 AND c.id IN (SELECT unnest($3::text[]));

-- units.query:sizesQuery
SELECT t.trace_id, (SELECT count(*)::int FROM (SELECT FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.trace_id = t.trace_id LIMIT $2::bigint) c) AS calls
  FROM unnest($3::text[]) t (trace_id);

-- units.query:membersQuery
SELECT c.trace_id, c.id, c.parent_id, c.thread_id, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  c.ended_at IS NULL AND c.exception IS NULL AS is_running, c.exception IS NOT NULL AS has_failed,
  coalesce(c.ended_at, c.started_at) > now() - make_interval(secs => $1) AS is_young,
  (c.op_name ~ '(^|[/.])[A-Za-z0-9_-]*[.]score(:|$)'
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $2::text[]) = 'scorer', false)
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]) = 'EVALUATOR', false)) AS is_scorer, CASE WHEN c.output IS NULL OR strpos(c.inputs::text, '"messages"') > 0 THEN false ELSE (coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]) = 'llm', false)
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'LLM', false)
  OR coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) = ANY($7::text[]), false)) END AS is_model,
  CASE WHEN c.output IS NOT NULL AND strpos(c.inputs::text, '"messages"') > 0
  THEN pg_column_size(c.inputs) + pg_column_size(c.output) + pg_column_size(c.attributes) END AS size
  FROM unnest($8::text[]) t (trace_id)
  JOIN calls c ON c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = t.trace_id
  ORDER BY c.started_at, c.id;

-- units.query:textsQuery
SELECT c.id, c.bytes, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, c.exception, c.usage_text AS usage,
  CASE WHEN c.bytes <= $1::bigint THEN c.attributes::text END AS attributes,
  CASE WHEN c.bytes <= $2::bigint THEN c.inputs::text END AS inputs, CASE WHEN c.bytes <= $3::bigint THEN c.output::text END AS output
  FROM (SELECT c.*, coalesce(octet_length(c.attributes::text), 0) + coalesce(octet_length(c.inputs::text), 0)
  + coalesce(octet_length(c.output::text), 0) AS bytes, (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $4::text[])::text AS usage_text
  FROM calls c WHERE c.project_id = $5 AND c.id IN (SELECT unnest($6::text[]))) c;

-- units.query:feedbackQuery
SELECT f.id, f.unit, f.call, ARRAY[CASE WHEN (f.feedback_type = ANY($1::text[])) AND octet_length((CASE WHEN f.is_opaque THEN skein_safe_json(f.payload) ELSE f.payload END #> $2::text[])::text) <= $3::int
  THEN (CASE WHEN f.is_opaque THEN skein_safe_json(f.payload) ELSE f.payload END #> $2::text[])::text END]::text[] AS values,
  encode(sha256(convert_to(f.feedback_type || E'\n' || f.ref || E'\n' || f.payload::text, 'UTF8')), 'hex') AS sha256
  FROM (SELECT r.unit, r.call, f.*, row_number() OVER (PARTITION BY r.unit ORDER BY f.created_at DESC, f.id DESC) AS place
  FROM unnest($4::text[], $5::int[],
  $6::text[]) r (ref, unit, call)
  CROSS JOIN LATERAL (SELECT f.* FROM feedback f
  WHERE f.project_id = $7 AND f.ref = r.ref AND (f.feedback_type = ANY($8::text[]))
  ORDER BY f.created_at DESC, f.id DESC LIMIT $9::bigint) f) f
  WHERE f.place <= $10::bigint
  ORDER BY f.unit, f.place;
