-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- checkpoint-files.query:partInsert
INSERT INTO checkpoint_parts (project_id, job_id, file, part, upload_id, size_bytes)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO NOTHING RETURNING 1;

-- checkpoint-files.query:partsCount
SELECT count(*)::int AS parts FROM checkpoint_parts WHERE project_id = $1 AND job_id = $2;

-- checkpoint-files.query:partsQuery
SELECT file, part, size_bytes FROM checkpoint_parts
  WHERE project_id = $1 AND job_id = $2 ORDER BY file, part;

-- checkpoint-files.query:partsOfFile
SELECT part, upload_id, size_bytes FROM checkpoint_parts
  WHERE project_id = $1 AND job_id = $2 AND file = $3 ORDER BY part;

-- checkpoint-files.query:partsDeleteBut
DELETE FROM checkpoint_parts
  WHERE project_id = $1 AND job_id = ANY($2::uuid[]) AND file <> ALL($3::text[]) RETURNING upload_id;

-- checkpoint-files.query:chunkInsert
INSERT INTO checkpoint_chunks (project_id, upload_id, seq, bytes)
  VALUES ($1, $2, $3, $4);

-- checkpoint-files.query:chunksQuery
SELECT seq, bytes FROM checkpoint_chunks
  WHERE project_id = $1 AND upload_id = $2 AND seq >= $3 ORDER BY seq LIMIT 2;
