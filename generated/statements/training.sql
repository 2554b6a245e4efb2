-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- preview.query:modelLock
SELECT 1 FROM models m
  WHERE m.project_id = $1 AND m.id = $2 AND m.deleted_at IS NULL FOR NO KEY UPDATE;

-- preview.query:latestStep
SELECT max(step) AS step FROM checkpoints WHERE project_id = $1 AND model_id = $2;
