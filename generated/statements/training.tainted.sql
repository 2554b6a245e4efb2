-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- tainted.query:buildsOfCalls
SELECT DISTINCT i.build_id AS id FROM build_inputs i
  WHERE i.project_id = $1 AND i.kind = 'call' AND i.id = ANY($2::text[])
  ORDER BY id LIMIT $3;

-- tainted.query:buildsMark
UPDATE builds SET tainted_at = statement_timestamp()
  WHERE project_id = $1 AND id = ANY($2::uuid[]) AND tainted_at IS NULL;

-- tainted.query:jobsMark
WITH RECURSIVE tainted AS (
  SELECT j.id, j.model_id, j.step FROM training_jobs j
  WHERE j.project_id = $1 AND j.tainted_at IS NULL AND j.id IN (SELECT bj.job_id FROM build_jobs bj
  WHERE bj.project_id = $2 AND bj.build_id = ANY($3::uuid[]))
  UNION
  SELECT j.id, j.model_id, j.step FROM tainted t
  CROSS JOIN LATERAL (SELECT j.id, j.model_id, j.step FROM training_jobs j
  WHERE j.project_id = $4 AND j.model_id = t.model_id AND j.parent_step = t.step
  AND j.status NOT IN ('failed', 'cancelled') AND j.tainted_at IS NULL OFFSET 0) "j")
  UPDATE training_jobs j SET tainted_at = statement_timestamp()
  WHERE j.project_id = $5 AND j.id IN (SELECT id FROM tainted) RETURNING j.model_id, j.step;

-- tainted.query:checkpointsMark
UPDATE checkpoints SET tainted_at = statement_timestamp()
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) AND tainted_at IS NULL;

-- tainted.query:buildsList
SELECT json_build_object('id', b.id, 'recipe_name', b.recipe_name, 'erased_at', to_char(b.erased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'tainted_at', to_char(b.tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM builds b WHERE b.project_id = $1
  AND b.id = ANY($2::uuid[])
  ORDER BY b.id LIMIT $3;

-- tainted.query:jobsList
WITH RECURSIVE tainted AS (
  SELECT j.id, j.model_id, j.step FROM training_jobs j
  WHERE j.project_id = $1  AND j.id IN (SELECT bj.job_id FROM build_jobs bj
  WHERE bj.project_id = $2 AND bj.build_id = ANY($3::uuid[]))
  UNION
  SELECT j.id, j.model_id, j.step FROM tainted t
  CROSS JOIN LATERAL (SELECT j.id, j.model_id, j.step FROM training_jobs j
  WHERE j.project_id = $4 AND j.model_id = t.model_id AND j.parent_step = t.step
  AND j.status NOT IN ('failed', 'cancelled')  OFFSET 0) "j")
  SELECT json_build_object('id', j.id, 'model_id', j.model_id, 'status', j.status, 'parent_step', j.parent_step,
  'step', j.step, 'tainted_at', to_char(j.tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM training_jobs j WHERE j.project_id = $5
  AND j.id IN (SELECT id FROM tainted)
  ORDER BY j.id LIMIT $6;

-- tainted.query:checkpointsList
WITH RECURSIVE tainted AS (
  SELECT j.id, j.model_id, j.step FROM training_jobs j
  WHERE j.project_id = $1  AND j.id IN (SELECT bj.job_id FROM build_jobs bj
  WHERE bj.project_id = $2 AND bj.build_id = ANY($3::uuid[]))
  UNION
  SELECT j.id, j.model_id, j.step FROM tainted t
  CROSS JOIN LATERAL (SELECT j.id, j.model_id, j.step FROM training_jobs j
  WHERE j.project_id = $4 AND j.model_id = t.model_id AND j.parent_step = t.step
  AND j.status NOT IN ('failed', 'cancelled')  OFFSET 0) "j")
  SELECT json_build_object('model_id', c.model_id, 'model', m.name, 'step', c.step, 'aliases', ARRAY(
  SELECT a.alias FROM model_aliases a
  WHERE a.project_id = $5 AND a.model_id = c.model_id AND a.step = c.step ORDER BY a.alias),
  'tainted_at', to_char(c.tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM checkpoints c
  LEFT JOIN models m ON m.project_id = $6 AND m.id = c.model_id
  WHERE c.project_id = $7
  AND (c.model_id, c.step) IN (SELECT model_id, step FROM tainted)
  ORDER BY c.model_id, c.step LIMIT $8;
