-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- queue.query:notifyQueue
SELECT pg_notify($1, '');

-- queue.query:jobOfProject
SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.project_id = $1 AND j.id = $2;

-- queue.query:jobById
SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.id = $1 AND (j.project_id = ANY($2::text[]) OR split_part(j.project_id, '/', 1) || '/*' = ANY($3::text[]));

SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.id = $1 AND TRUE;

-- queue.query:heldPayload
SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, b.payload_bytes::float8 AS bytes FROM training_jobs j
  JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  WHERE j.project_id = $1 AND j.id = $2 AND j.lease_token_hash = $3 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now();

-- queue.query:nextJobs
SELECT q.project_id, q.id FROM (
  SELECT DISTINCT ON (j.project_id, j.model_id) j.project_id, j.model_id, j.created_at, j.id, j.kind FROM training_jobs j
  WHERE j.status = 'queued' AND (j.project_id = ANY($1::text[]) OR split_part(j.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ORDER BY j.project_id, j.model_id, j.created_at, j.id) q
  JOIN models n ON n.project_id = q.project_id AND n.id = q.model_id
  WHERE NOT EXISTS (SELECT FROM training_jobs o
  WHERE o.project_id = q.project_id AND o.model_id = q.model_id AND o.status IN ('leased', 'running')) AND q.kind = ANY($3::text[]) AND n.base_model = ANY($4::text[])
  ORDER BY q.created_at, q.id LIMIT $5;

SELECT q.project_id, q.id FROM (
  SELECT DISTINCT ON (j.project_id, j.model_id) j.project_id, j.model_id, j.created_at, j.id, j.kind FROM training_jobs j
  WHERE j.status = 'queued' AND TRUE
  ORDER BY j.project_id, j.model_id, j.created_at, j.id) q
  JOIN models n ON n.project_id = q.project_id AND n.id = q.model_id
  WHERE NOT EXISTS (SELECT FROM training_jobs o
  WHERE o.project_id = q.project_id AND o.model_id = q.model_id AND o.status IN ('leased', 'running')) AND q.kind = ANY($1::text[]) AND n.base_model = ANY($2::text[])
  ORDER BY q.created_at, q.id LIMIT $3;

-- queue.query:claim
UPDATE training_jobs j
  SET status = 'leased', attempt = j.attempt + 1, worker_id = $1, lease_token_hash = $2,
  leased_at = now(), lease_expires_at = now() + make_interval(secs => $3),
  parent_step = greatest(0, (SELECT max(c.step) FROM checkpoints c
  WHERE c.project_id = $4 AND c.model_id = j.model_id AND c.tainted_at IS NULL)), state = (SELECT j.state WHERE j.parent_step = greatest(0, (SELECT max(c.step) FROM checkpoints c
  WHERE c.project_id = $5 AND c.model_id = j.model_id AND c.tainted_at IS NULL))), tainted_at = NULL
  FROM models m, trajectory_batches b
  WHERE j.project_id = $6 AND j.status = 'queued'
  AND j.id = (SELECT q.id FROM training_jobs q
  WHERE q.project_id = $7 AND q.id = $8 AND q.status = 'queued' AND NOT EXISTS (
  SELECT FROM training_jobs o WHERE o.project_id = $9 AND o.model_id = q.model_id
  AND (o.status IN ('leased', 'running') OR (o.status = 'queued' AND (o.created_at, o.id) < (q.created_at, q.id))))
  FOR UPDATE OF q SKIP LOCKED)
  AND m.project_id = $10 AND m.id = j.model_id
  AND b.project_id = $11 AND b.id = j.batch_id
  RETURNING j.id AS job_id, j.kind, m.project_id, m.id AS model_id, m.name, m.base_model, j.parent_step, j.attempt,
  j.config::text AS config, j.experimental_config::text AS experimental_config, j.state::text AS state,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at,
  b.payload_bytes::float8 AS bytes, encode(b.payload_sha256, 'hex') AS sha256;

-- queue.query:parentQuery
SELECT json_build_object('step', p.step, 'uri', c.uri, 'sha256', c.sha256, 'config', c.config,
  'files', coalesce(c.files, '[]'))::text AS json
  FROM (SELECT $1::int AS step) p
  LEFT JOIN checkpoints c ON c.project_id = $2 AND c.model_id = $3 AND c.step = p.step;

-- queue.query:renewLease
UPDATE training_jobs j SET lease_expires_at = now() + make_interval(secs => $1) WHERE j.project_id = $2 AND j.id = $3 AND j.lease_token_hash = $4 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

-- queue.query:start
UPDATE training_jobs j SET status = 'running', started_at = coalesce(j.started_at, $1::timestamptz)
  WHERE j.project_id = $2 AND j.id = $3 AND j.lease_token_hash = $4 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() AND j.status = 'leased' RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

-- queue.query:succeed
UPDATE training_jobs j
  SET status = 'succeeded', finished_at = now(), lease_expires_at = NULL, state = NULL, no_step_reason = $1::text,
  step = 1 + (SELECT max(c.step) FROM checkpoints c WHERE c.project_id = $2 AND c.model_id = j.model_id),
  tainted_at = greatest(j.tainted_at, (SELECT max(p.tainted_at) FROM training_jobs p
  WHERE p.project_id = $3 AND p.model_id = j.model_id AND p.step = j.parent_step))
  WHERE j.project_id = $4 AND j.id = $5 AND j.lease_token_hash = $6 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() AND j.status = 'running' RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

-- queue.query:checkpointAdd
INSERT INTO checkpoints (project_id, model_id, step, id, metrics, uri, sha256, size_bytes, job_id, files, config, tainted_at)
  VALUES ($1, $2, $3, $4, $5::jsonb,
  $6, $7, $8, $9, $10::json,
  $11::json, $12::timestamptz);

-- queue.query:manifestQuery
SELECT j.id AS job_id, j.state AS files
  FROM training_jobs j
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.parent_step
  WHERE j.project_id = $1 AND j.id = $2 AND j.lease_token_hash = $3 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now();

-- queue.query:endAttempt
UPDATE training_jobs j
  SET status = CASE WHEN j.cancel_requested_at IS NOT NULL THEN 'cancelled' WHEN ($1::boolean AND j.attempt < $2 AND NOT j.cancel_requested_at IS NOT NULL) THEN 'queued' ELSE 'failed' END,
  error_message = CASE WHEN j.cancel_requested_at IS NOT NULL THEN $3 WHEN ($4::boolean AND j.attempt < $5 AND NOT j.cancel_requested_at IS NOT NULL) THEN NULL ELSE $6::text END,
  state = CASE WHEN ($7::boolean AND j.attempt < $8 AND NOT j.cancel_requested_at IS NOT NULL) THEN j.state END,
  finished_at = CASE WHEN ($9::boolean AND j.attempt < $10 AND NOT j.cancel_requested_at IS NOT NULL) THEN NULL ELSE $11::timestamptz END,
  queued_at = CASE WHEN ($12::boolean AND j.attempt < $13 AND NOT j.cancel_requested_at IS NOT NULL) THEN $14::timestamptz ELSE j.queued_at END,
  lease_token_hash = CASE WHEN ($15::boolean AND j.attempt < $16 AND NOT j.cancel_requested_at IS NOT NULL) THEN NULL ELSE j.lease_token_hash END,
  lease_expires_at = NULL
  WHERE j.project_id = $17 AND j.id = $18 AND j.lease_token_hash = $19 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

-- queue.query:overdueJobs
SELECT j.project_id, j.id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.status = 'queued' AND j.queued_at < now() - make_interval(secs => $1) ORDER BY j.project_id, j.id LIMIT 100;

SELECT j.project_id, j.id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.status IN ('leased', 'running') AND j.lease_expires_at <= now() ORDER BY j.project_id, j.id LIMIT 100;

SELECT j.project_id, j.id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.status IN ('leased', 'running') AND j.leased_at < now() - make_interval(secs => $1) ORDER BY j.project_id, j.id LIMIT 100;

-- queue.query:cancel
UPDATE training_jobs j
  SET status = CASE WHEN j.status = 'queued' THEN 'cancelled' ELSE j.status END,
  state = CASE WHEN j.status <> 'queued' THEN j.state END,
  finished_at = CASE WHEN j.status = 'queued' THEN $1::timestamptz END,
  error_message = CASE WHEN j.status = 'queued' THEN $2 END,
  cancel_requested_at = coalesce(j.cancel_requested_at, $3::timestamptz)
  WHERE j.project_id = $4 AND j.id = $5 AND j.status IN ('queued', 'leased', 'running') RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

-- queue.query:cancelModelJobs
UPDATE training_jobs j
  SET status = 'cancelled', finished_at = now(), error_message = 'the model was deleted', lease_expires_at = NULL,
  state = NULL
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.status IN ('queued', 'leased', 'running') RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

-- queue.query:eventsInsert
INSERT INTO training_job_events (project_id, job_id, seq, id, type, data, attempt, trainer_seq)
  SELECT $1::text, $2::uuid,
  n + (SELECT coalesce(max(seq), 0) FROM training_job_events WHERE project_id = $3 AND job_id = $4),
  event_id, type, data, $5::int, trainer_seq
  FROM (VALUES ($6::int, $7::uuid, $8::text, $9::json, $10::bigint)) AS e (n, event_id, type, data, trainer_seq);

-- queue.query:eventsKnown
SELECT CASE WHEN type <> 'training_started' OR attempt = $1 THEN trainer_seq::float8 END AS seq, type
  FROM training_job_events
  WHERE project_id = $2 AND job_id = $3
  AND (type = 'training_started' OR (attempt = $4 AND trainer_seq = ANY($5::bigint[])));

-- training-job.entity
SELECT "TrainingJob"."state" AS "TrainingJob_state", "TrainingJob"."project_id" AS "TrainingJob_project_id", "TrainingJob"."id" AS "TrainingJob_id" FROM "training_jobs" "TrainingJob" WHERE (("TrainingJob"."project_id" = $1) AND ("TrainingJob"."id" = $2)) LIMIT 1;

UPDATE "training_jobs" SET "state" = $1 WHERE ("project_id" = $2 AND "id" = $3);

-- training-jobs.query:jobInsert
INSERT INTO training_jobs (project_id, id, model_id, batch_id, user_id, kind, training_data_url, config,
  experimental_config, retrains_job_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7,
  $8::json, $9::json, $10);

-- training-jobs.query:findOpenJob
SELECT j.id FROM training_jobs j
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.status IN ('queued', 'leased', 'running')
  AND (SELECT b.body_sha256 FROM trajectory_batches b WHERE b.project_id = $3 AND b.id = j.batch_id) = $4
  ORDER BY j.id LIMIT 1;

-- training-jobs.query:findSameSftJob
SELECT j.id FROM training_jobs j
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.status IN ('queued', 'leased', 'running') AND j.training_data_url = $3
  AND coalesce(j.config::text, '') = coalesce($4::text, '')
  AND coalesce(j.experimental_config::text, '') = coalesce($5::text, '')
  AND (SELECT b.body_sha256 FROM trajectory_batches b WHERE b.project_id = $6 AND b.id = j.batch_id) = $7
  ORDER BY j.id LIMIT 1;

-- training-jobs.query:findRetrain
SELECT j.id FROM training_jobs j
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.retrains_job_id = $3
  AND (j.status IN ('queued', 'leased', 'running') OR (j.status = 'succeeded' AND j.tainted_at IS NULL))
  ORDER BY j.id LIMIT 1;

-- training-jobs.query:asJson
SELECT t.id, row_to_json(t)::text AS json FROM (
  SELECT j.id, j.model_id, j.kind, j.status, to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
  to_char(j.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(j.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at, j.error_message,
  j.attempt, j.cancel_requested_at IS NOT NULL AS cancel_requested, b.num_groups, b.num_trajectories,
  j.training_data_url, j.config, j.experimental_config, CASE WHEN j.status = 'succeeded' THEN j.step IS NOT NULL END AS made_step, j.no_step_reason,
  CASE WHEN c.step IS NOT NULL THEN
  json_build_object('step', c.step, 'uri', c.uri, 'sha256', c.sha256, 'size_bytes', c.size_bytes) END AS checkpoint
  FROM training_jobs j
  LEFT JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.step
  WHERE (j.project_id = ANY($1::text[]) OR split_part(j.project_id, '/', 1) || '/*' = ANY($2::text[])) ORDER BY j.id ASC LIMIT $3) t;

SELECT t.id, row_to_json(t)::text AS json FROM (
  SELECT j.id, j.model_id, j.kind, j.status, to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
  to_char(j.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(j.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at, j.error_message,
  j.attempt, j.cancel_requested_at IS NOT NULL AS cancel_requested, b.num_groups, b.num_trajectories,
  j.training_data_url, j.config, j.experimental_config, CASE WHEN j.status = 'succeeded' THEN j.step IS NOT NULL END AS made_step, j.no_step_reason,
  CASE WHEN c.step IS NOT NULL THEN
  json_build_object('step', c.step, 'uri', c.uri, 'sha256', c.sha256, 'size_bytes', c.size_bytes) END AS checkpoint
  FROM training_jobs j
  LEFT JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.step
  WHERE TRUE ORDER BY j.id ASC LIMIT $1) t;

SELECT t.id, row_to_json(t)::text AS json FROM (
  SELECT j.id, j.model_id, j.kind, j.status, to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
  to_char(j.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(j.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at, j.error_message,
  j.attempt, j.cancel_requested_at IS NOT NULL AS cancel_requested, b.num_groups, b.num_trajectories,
  j.training_data_url, j.config, j.experimental_config, CASE WHEN j.status = 'succeeded' THEN j.step IS NOT NULL END AS made_step, j.no_step_reason,
  CASE WHEN c.step IS NOT NULL THEN
  json_build_object('step', c.step, 'uri', c.uri, 'sha256', c.sha256, 'size_bytes', c.size_bytes) END AS checkpoint
  FROM training_jobs j
  LEFT JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.step
  WHERE j.id = $1 AND (j.project_id = ANY($2::text[]) OR split_part(j.project_id, '/', 1) || '/*' = ANY($3::text[])) ) t;

SELECT t.id, row_to_json(t)::text AS json FROM (
  SELECT j.id, j.model_id, j.kind, j.status, to_char(j.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
  to_char(j.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(j.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at, j.error_message,
  j.attempt, j.cancel_requested_at IS NOT NULL AS cancel_requested, b.num_groups, b.num_trajectories,
  j.training_data_url, j.config, j.experimental_config, CASE WHEN j.status = 'succeeded' THEN j.step IS NOT NULL END AS made_step, j.no_step_reason,
  CASE WHEN c.step IS NOT NULL THEN
  json_build_object('step', c.step, 'uri', c.uri, 'sha256', c.sha256, 'size_bytes', c.size_bytes) END AS checkpoint
  FROM training_jobs j
  LEFT JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.step
  WHERE j.id = $1 AND TRUE ) t;

-- training-jobs.query:eventsPage
SELECT e.id, json_build_object('id', e.id, 'type', e.type, 'data', e.data,
  'created_at', to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM training_job_events e
  WHERE e.project_id = $1 AND e.job_id = $2 AND e.seq > $3 AND NOT e.is_hidden
  ORDER BY e.seq LIMIT $4;

-- training-jobs.query:trajectoriesQuery
SELECT concat_ws(E'\n', b.id, t.group_index, t.trajectory_index, json_build_object('id', t.id, 'model_id', b.model_id, 'job_id', b.job_id, 'split', b.split,
  'step', b.step, 'group_index', t.group_index, 'trajectory_index', t.trajectory_index, 'num_tokens', t.num_tokens,
  'created_at', to_char(b.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, t.document::text) AS row
  FROM trajectory_batches b
  JOIN trajectories t ON t.project_id = b.project_id AND t.batch_id = b.id
  WHERE b.project_id = $1 AND b.model_id = $2
  ORDER BY t.id::text COLLATE "C" ASC NULLS LAST
  LIMIT $3::bigint OFFSET $4::bigint; -- a list
