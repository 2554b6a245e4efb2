-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- serving.query
SELECT m.id AS model_id, s.step, s.provider, s.upstream_model
  FROM models m LEFT JOIN (served_checkpoints s
  JOIN checkpoints k ON k.project_id = $1 AND k.model_id = s.model_id AND k.step = s.step)
  ON s.project_id = $1 AND s.model_id = m.id AND s.expires_at > now()
  AND CASE WHEN $2::int IS NOT NULL THEN s.step = $2::int
  WHEN $3::text IS NULL THEN k.tainted_at IS NULL
  ELSE s.step = (SELECT a.step FROM model_aliases a
  WHERE a.project_id = $1 AND a.model_id = m.id AND a.alias = $3) END
  WHERE m.project_id = $1 AND m.name = $4 AND m.deleted_at IS NULL
  ORDER BY s.step DESC NULLS LAST, s.provider LIMIT 100;

-- serving.query:servingUpsert
INSERT INTO served_checkpoints (project_id, model_id, step, provider, upstream_model, expires_at)
  SELECT k.project_id, k.model_id, k.step, $1, $2,
  now() + make_interval(secs => $3)
  FROM checkpoints k
  WHERE k.project_id = $4 AND k.model_id = $5::uuid AND k.step = $6
  ON CONFLICT (project_id, model_id, step, provider)
  DO UPDATE SET upstream_model = excluded.upstream_model, expires_at = excluded.expires_at
  RETURNING expires_at;

-- serving.query:expiredDelete
DELETE FROM served_checkpoints
  WHERE project_id = $1 AND model_id = $2::uuid AND expires_at < now() - interval '1 hour';

-- serving.query:servingDelete
DELETE FROM served_checkpoints
  WHERE project_id = $1 AND model_id = $2::uuid AND step = $3 AND provider = $4
  RETURNING 1;

-- serving.query:nameTakenQuery
SELECT 1 FROM served_checkpoints
  WHERE project_id <> $1 AND provider = $2 AND upstream_model = $3
  AND (step > 0 OR $4::int > 0) AND expires_at > now() LIMIT 1;

-- serving.query:listedQuery
SELECT DISTINCT m.project_id, m.name, extract(epoch FROM m.created_at)::int AS created, s.step
  FROM served_checkpoints s
  JOIN models m ON m.project_id = s.project_id AND m.id = s.model_id AND m.deleted_at IS NULL
  WHERE s.expires_at > now() AND TRUE
  ORDER BY m.project_id, m.name, created, s.step LIMIT $1;

SELECT DISTINCT m.project_id, m.name, extract(epoch FROM m.created_at)::int AS created, s.step
  FROM served_checkpoints s
  JOIN models m ON m.project_id = s.project_id AND m.id = s.model_id AND m.deleted_at IS NULL
  WHERE s.expires_at > now() AND s.project_id = $1
  ORDER BY m.project_id, m.name, created, s.step LIMIT $2;

-- serving.query:servablePage
SELECT m.project_id, m.id, m.name, m.base_model FROM models m
  WHERE m.deleted_at IS NULL AND (m.project_id = ANY($1::text[]) OR split_part(m.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.project_id, m.id, m.name, m.base_model FROM models m
  WHERE m.deleted_at IS NULL AND TRUE
  ORDER BY m.id LIMIT $1;

-- serving.query:newestSteps
SELECT k.model_id, k.step, k.files, k.aliases FROM (
  SELECT c.model_id, c.step, c.files IS NOT NULL AS files,
  ARRAY(SELECT a.alias FROM model_aliases a
  WHERE a.project_id = $1 AND a.model_id = c.model_id AND a.step = c.step ORDER BY a.alias) AS aliases,
  row_number() OVER (PARTITION BY c.model_id ORDER BY c.step DESC) AS place
  FROM checkpoints c
  WHERE c.project_id = $2 AND c.model_id = ANY($3::uuid[]) AND c.tainted_at IS NULL) k
  WHERE k.place <= $4::bigint OR k.step = 0 OR k.aliases <> '{}' ORDER BY k.model_id, k.step DESC;
