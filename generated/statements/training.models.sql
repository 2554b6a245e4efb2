-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- checkpoint.entity
INSERT INTO "checkpoints"("project_id", "model_id", "step", "id", "metrics", "job_id", "uri", "sha256", "size_bytes", "files", "config", "created_at", "tainted_at") VALUES ($1, $2, $3, $4, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT) RETURNING "metrics", "created_at";

SELECT "Checkpoint"."project_id" AS "Checkpoint_project_id", "Checkpoint"."model_id" AS "Checkpoint_model_id", "Checkpoint"."step" AS "Checkpoint_step", "Checkpoint"."id" AS "Checkpoint_id", "Checkpoint"."metrics" AS "Checkpoint_metrics", "Checkpoint"."job_id" AS "Checkpoint_job_id", "Checkpoint"."uri" AS "Checkpoint_uri", "Checkpoint"."sha256" AS "Checkpoint_sha256", "Checkpoint"."size_bytes" AS "Checkpoint_size_bytes", "Checkpoint"."files" AS "Checkpoint_files", "Checkpoint"."config" AS "Checkpoint_config", "Checkpoint"."created_at" AS "Checkpoint_created_at", "Checkpoint"."tainted_at" AS "Checkpoint_tainted_at" FROM "checkpoints" "Checkpoint" WHERE (("Checkpoint"."project_id" = $1) AND ("Checkpoint"."model_id" = $2) AND ("Checkpoint"."step" = $3)) LIMIT 1;

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "checkpoints" "Checkpoint" WHERE (("Checkpoint"."project_id" = $1) AND ("Checkpoint"."model_id" = $2) AND ("Checkpoint"."step" = $3))) LIMIT 1;

-- model.entity
SELECT "Model"."project_id" AS "Model_project_id", "Model"."id" AS "Model_id", "Model"."name" AS "Model_name", "Model"."base_model" AS "Model_base_model", "Model"."user_id" AS "Model_user_id", "Model"."created_at" AS "Model_created_at", "Model"."deleted_at" AS "Model_deleted_at" FROM "models" "Model" WHERE (("Model"."id" = $1) AND ("Model"."deleted_at" IS NULL)) LIMIT 1;

UPDATE "models" SET "deleted_at" = now() WHERE ("project_id" = $1 AND "id" = $2);

-- models.query:modelInsert
INSERT INTO models (project_id, id, name, base_model, user_id)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (project_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING 1;

-- models.query:modelsPage
SELECT m.project_id AS "projectId", m.id, m.name, m.base_model AS "baseModel" FROM models m
  WHERE m.deleted_at IS NULL AND (m.project_id = ANY($1::text[]) OR split_part(m.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.project_id AS "projectId", m.id, m.name, m.base_model AS "baseModel" FROM models m
  WHERE m.deleted_at IS NULL AND TRUE
  ORDER BY m.id LIMIT $1;

-- models.query:checkpointsPage
SELECT id, (CASE WHEN tainted_at IS NULL THEN json_build_object('id', id, 'step', step, 'metrics', metrics)
  ELSE json_build_object('id', id, 'step', step, 'metrics', metrics, 'tainted_at', to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END)::text AS json, found
  FROM (
  SELECT id, step, metrics, tainted_at, row_number() OVER seen AS place, (count(*) OVER ())::int AS found,
  sum(octet_length(metrics::text)) OVER seen AS bytes
  FROM (SELECT id, step, metrics, tainted_at FROM checkpoints WHERE project_id = $1 AND model_id = $2
  ORDER BY step ASC LIMIT $3) asked
  WINDOW seen AS (ORDER BY step ASC ROWS UNBOUNDED PRECEDING)) shown
  WHERE place = 1 OR bytes <= $4::bigint ORDER BY step ASC;

-- models.query:metricsMerge
UPDATE checkpoints SET metrics = metrics || $1::jsonb
  WHERE project_id = $2 AND model_id = $3 AND step = (SELECT max(step) AS step FROM checkpoints WHERE project_id = $4 AND model_id = $5)
  RETURNING step, (SELECT count(*)::int FROM jsonb_object_keys(metrics)) AS names, octet_length(metrics::text) AS bytes;

-- models.query:checkpointsDelete
DELETE FROM checkpoints
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) AND step < (SELECT max(step) AS step FROM checkpoints WHERE project_id = $4 AND model_id = $5)
  AND step NOT IN (SELECT j.parent_step FROM training_jobs j
  WHERE j.project_id = $6 AND j.model_id = $7 AND j.status IN ('leased', 'running'))
  RETURNING step, job_id;

-- models.query:checkpointsDeleteAll
DELETE FROM checkpoints WHERE project_id = $1 AND model_id = $2 RETURNING job_id;

-- models.query:checkpointJson
SELECT json_build_object('id', id, 'step', step, 'metrics', metrics, 'created_at', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'tainted_at', to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'job_id', job_id, 'uri', uri, 'sha256', sha256, 'size_bytes', size_bytes, 'config', config,
  'files', coalesce(files, '[]'),
  'aliases', (SELECT coalesce(json_agg(a.alias ORDER BY a.alias), '[]') FROM model_aliases a
  WHERE a.project_id = $1 AND a.model_id = $2 AND a.step = $3),
  'serving', coalesce((
  SELECT json_agg(json_build_object('provider', s.provider, 'upstream_model', s.upstream_model,
  'expires_at', to_char(s.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ORDER BY s.provider)
  FROM served_checkpoints s
  WHERE s.project_id = $4 AND s.model_id = $5 AND s.step = $6 AND s.expires_at > now()), '[]'))::text AS json
  FROM checkpoints WHERE project_id = $7 AND model_id = $8 AND step = $9;

-- models.query:batchesDelete
DELETE FROM trajectory_batches WHERE project_id = $1 AND model_id = $2 RETURNING id;
