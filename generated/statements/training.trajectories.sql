-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- trajectory-batch.entity
INSERT INTO "trajectory_batches"("project_id", "id", "model_id", "split", "job_id", "step", "num_groups", "num_trajectories", "body_bytes", "body_sha256", "payload_bytes", "payload_sha256", "created_at") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, DEFAULT) RETURNING "created_at";

-- uploads.query:chunkInsert
INSERT INTO body_chunks (project_id, batch_id, seq, text, groups_before)
  VALUES ($1, $2, $3, $4, $5);

-- uploads.query:trajectoriesInsert
INSERT INTO trajectories (project_id, id, batch_id, group_index, trajectory_index, num_tokens, is_opaque,
  reward, start_time, document) VALUES ($1, $2::uuid, $3::uuid, $4::int, $5::int,
  $6::int, $7::boolean, $8::float8, $9::timestamptz, $10::json), ($11, $12::uuid, $13::uuid, $14::int, $15::int,
  $16::int, $17::boolean, $18::float8, $19::timestamptz, $20::json), ($21, $22::uuid, $23::uuid, $24::int, $25::int,
  $26::int, $27::boolean, $28::float8, $29::timestamptz, $30::json), ($31, $32::uuid, $33::uuid, $34::int, $35::int,
  $36::int, $37::boolean, $38::float8, $39::timestamptz, $40::json);

INSERT INTO trajectories (project_id, id, batch_id, group_index, trajectory_index, num_tokens, is_opaque,
  reward, start_time, document) VALUES ($1, $2::uuid, $3::uuid, $4::int, $5::int,
  $6::int, $7::boolean, $8::float8, $9::timestamptz, $10::json), ($11, $12::uuid, $13::uuid, $14::int, $15::int,
  $16::int, $17::boolean, $18::float8, $19::timestamptz, $20::json);

INSERT INTO trajectories (project_id, id, batch_id, group_index, trajectory_index, num_tokens, is_opaque,
  reward, start_time, document) VALUES ($1, $2::uuid, $3::uuid, $4::int, $5::int,
  $6::int, $7::boolean, $8::float8, $9::timestamptz, $10::json);

-- uploads.query:trajectoriesDelete
DELETE FROM trajectories WHERE project_id = $1 AND batch_id = ANY($2::uuid[]);

-- uploads.query:chunksDelete
DELETE FROM body_chunks WHERE project_id = $1 AND batch_id = ANY($2::uuid[]);

-- uploads.query:payloadChunks
SELECT seq, text FROM body_chunks
  WHERE project_id = $1 AND batch_id = $2 AND seq > $3 ORDER BY seq LIMIT 4;

-- uploads.query:payloadChunk
SELECT seq, text FROM body_chunks
  WHERE project_id = $1 AND batch_id = $2 AND seq > $3 ORDER BY seq LIMIT 1;
