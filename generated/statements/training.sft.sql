-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- sft.query:dataPage
SELECT d.id, json_build_object('id', d.id, 'entity', split_part(d.project_id, '/', 1),
  'project', split_part(d.project_id, '/', 2), 'url', $1::text || d.id, 'num_rows', d.num_rows,
  'size_bytes', d.size_bytes, 'sha256', d.sha256, 'created_at', to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM training_data d
  WHERE (d.project_id = ANY($2::text[]) OR split_part(d.project_id, '/', 1) || '/*' = ANY($3::text[]))
  ORDER BY d.id LIMIT $4;

SELECT d.id, json_build_object('id', d.id, 'entity', split_part(d.project_id, '/', 1),
  'project', split_part(d.project_id, '/', 2), 'url', $1::text || d.id, 'num_rows', d.num_rows,
  'size_bytes', d.size_bytes, 'sha256', d.sha256, 'created_at', to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM training_data d
  WHERE TRUE
  ORDER BY d.id LIMIT $2;

-- sft.query:dataLock
SELECT 1 FROM training_data d WHERE d.project_id = $1 AND d.id = $2 FOR SHARE;

-- sft.query:jobsOfData
SELECT j.id FROM training_jobs j WHERE j.project_id = $1 AND j.training_data_url = $2 ORDER BY j.id;

-- training-data.entity
DELETE FROM "training_data" WHERE ("project_id" = $1 AND "id" = $2);

INSERT INTO "training_data"("project_id", "id", "num_rows", "size_bytes", "sha256", "user_id", "created_at") VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING "created_at";

SELECT "TrainingData"."project_id" AS "TrainingData_project_id", "TrainingData"."id" AS "TrainingData_id", "TrainingData"."num_rows" AS "TrainingData_num_rows", "TrainingData"."size_bytes" AS "TrainingData_size_bytes", "TrainingData"."sha256" AS "TrainingData_sha256", "TrainingData"."user_id" AS "TrainingData_user_id", "TrainingData"."created_at" AS "TrainingData_created_at" FROM "training_data" "TrainingData" WHERE (("TrainingData"."id" = $1)) LIMIT 1;
