-- What operations and background tasks ask of the database, written by `npm run generate:statements`: nothing reads it but people.

COPY calls (project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, is_orphan, thread_id, turn_id, thread_source, run_id, run_step, user_id, counts_gross, has_unread_usage, operation, agent_name, agent_version, linked_call_id, attributes, inputs, otel_dump, ended_at, exception, run_step_end, has_descendant_error, response_id, summary, output, usage, source, own_source) FROM STDIN (FORMAT binary);

DELETE FROM "body_chunks" WHERE project_id = $1 AND "batch_id" = $2;

DELETE FROM "call_indexes" WHERE ("project_id" = $1 AND "name" = $2);

DELETE FROM "checkpoint_chunks" WHERE project_id = $1 AND "upload_id" = $2;

DELETE FROM "console_sessions" WHERE "user_id" = $1;

DELETE FROM "feedback" WHERE ("project_id" = $1 AND "id" = $2);

DELETE FROM "file_chunks" WHERE project_id = $1 AND "upload_id" = $2;

DELETE FROM "memberships" WHERE "id" = $1;

DELETE FROM "model_alias_moves" WHERE ("project_id" = $1 AND "model_id" = $2);

DELETE FROM "model_aliases" WHERE ("project_id" = $1 AND "model_id" = $2);

DELETE FROM "object_aliases" WHERE ("project_id" = $1 AND "object_id" = $2 AND "alias" = ANY($3));

DELETE FROM "object_tags" WHERE ("project_id" = $1 AND "object_id" = $2 AND "version_index" = $3 AND "tag" = ANY($4));

DELETE FROM "training_data" WHERE ("project_id" = $1 AND "id" = $2);

DELETE FROM "trajectories" WHERE project_id = $1 AND "batch_id" = $2;

DELETE FROM body_chunks WHERE project_id = $1 AND batch_id = ANY($2::uuid[]);

DELETE FROM build_chunks WHERE project_id = $1 AND build_id = ANY($2::uuid[]);

DELETE FROM calls WHERE project_id = $1 AND id IN (SELECT unnest($2::text[])) RETURNING trace_id;

DELETE FROM checkpoint_parts
  WHERE project_id = $1 AND job_id = ANY($2::uuid[]) AND file <> ALL($3::text[]) RETURNING upload_id;

DELETE FROM checkpoints
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) AND step < (SELECT max(step) AS step FROM checkpoints WHERE project_id = $4 AND model_id = $5)
  AND step NOT IN (SELECT j.parent_step FROM training_jobs j
  WHERE j.project_id = $6 AND j.model_id = $7 AND j.status IN ('leased', 'running'))
  RETURNING step, job_id;

DELETE FROM checkpoints WHERE project_id = $1 AND model_id = $2 RETURNING job_id;

DELETE FROM console_sessions WHERE expires_at < now();

DELETE FROM costs p WHERE p.project_id = $1 AND (p.llm_id = $2::text);

DELETE FROM erasings WHERE ended_at < now() - interval '24 hours';

DELETE FROM feedback f WHERE f.project_id = $1 AND (f.id = $2::text);

DELETE FROM folded_spans WHERE folded_at < now() - interval '1 day';

DELETE FROM gateway_uses WHERE day < (now() AT TIME ZONE 'UTC')::date - 90;

DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours';

DELETE FROM model_aliases
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) RETURNING alias, step;

DELETE FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.version_index = ANY($3::int[]) RETURNING 1;

DELETE FROM projects WHERE project_id = $1 AND row_count = 0 AND bytes = 0;

DELETE FROM served_checkpoints
  WHERE project_id = $1 AND model_id = $2::uuid AND expires_at < now() - interval '1 hour';

DELETE FROM served_checkpoints
  WHERE project_id = $1 AND model_id = $2::uuid AND step = $3 AND provider = $4;

DELETE FROM threads WHERE project_id = $1 AND thread_id IN (SELECT unnest($2::text[]));

DELETE FROM trajectories WHERE project_id = $1 AND batch_id = ANY($2::uuid[]);

DELETE FROM trajectory_batches WHERE project_id = $1 AND model_id = $2 RETURNING id;

DELETE FROM trial_marks WHERE project_id = $1 AND id = ANY(ARRAY(
  SELECT m.id FROM (
  SELECT m.id, sum(m.size) OVER (ORDER BY m.id) - m.size AS before FROM (
  SELECT m.id, cardinality(m.call_ids) + cardinality(m.run_ids) AS size FROM trial_marks m
  WHERE m.project_id = $2 ORDER BY m.id LIMIT $3::bigint) m) m
  WHERE m.before < $4::bigint))
  RETURNING call_ids, run_ids;

DELETE FROM uploads WHERE project_id = $1 AND id = $2 RETURNING 1;

DELETE FROM uploads WHERE project_id = $1 RETURNING 1;

INSERT INTO "annotation_progress"("project_id", "item_id", "user_id", "state", "updated_at") VALUES ($1, $2, $3, $4, now()) ON CONFLICT ( "project_id", "item_id", "user_id" ) DO UPDATE SET "project_id" = EXCLUDED."project_id", "item_id" = EXCLUDED."item_id", "user_id" = EXCLUDED."user_id", "state" = EXCLUDED."state", "updated_at" = EXCLUDED."updated_at" RETURNING "updated_at";

INSERT INTO "annotation_queues"("project_id", "id", "name", "description", "scorer_refs", "total_items", "completed_items", "created_by", "created_at", "updated_at", "deleted_at") VALUES ($1, $2, $3, $4, $5, DEFAULT, DEFAULT, $6, DEFAULT, DEFAULT, DEFAULT) RETURNING "total_items", "completed_items", "created_at", "updated_at";

INSERT INTO "api_keys"("id", "user_name", "role", "scopes", "secret_hash", "hint", "created_at", "expires_at", "revoked_at", "user_id", "created_by") VALUES ($1, $2, $3, $4, $5, $6, DEFAULT, $7, DEFAULT, $8, $9) RETURNING "created_at";

INSERT INTO "audit_events" AS "AuditEvent"("project_id", "id", "created_at", "action", "key_id", "user_name", "target", "scopes", "detail", "user_id") VALUES ($1, $2, DEFAULT, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING;

INSERT INTO "audit_events" AS "AuditEvent"("project_id", "id", "created_at", "action", "key_id", "user_name", "target", "scopes", "detail", "user_id") VALUES ($1, $2, DEFAULT, $3, $4, $5, $6, $7, $8, $9);

INSERT INTO "checkpoints"("project_id", "model_id", "step", "id", "metrics", "job_id", "uri", "sha256", "size_bytes", "files", "config", "created_at", "tainted_at") VALUES ($1, $2, $3, $4, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT) RETURNING "metrics", "created_at";

INSERT INTO "erasings"("project_id", "id", "kind", "request", "targets", "cursor", "counts", "key_id", "user_name", "created_at", "touched_at", "ended_at") VALUES ($1, $2, $3, $4, $5, DEFAULT, DEFAULT, $6, $7, DEFAULT, DEFAULT, DEFAULT) RETURNING "counts", "created_at", "touched_at";

INSERT INTO "memberships"("id", "scope", "kind", "issuer", "subject", "role", "created_at") VALUES ($1, $2, $3, $4, $5, $6, DEFAULT) RETURNING "created_at";

INSERT INTO "retention_policies" AS "RetentionPolicy"("project_id", "calls_days", "payload_days", "payload_cursor", "walk_started_at") VALUES ($1, $2, $3, DEFAULT, DEFAULT) ON CONFLICT ( "project_id" ) DO UPDATE SET "calls_days" = EXCLUDED."calls_days", "payload_days" = EXCLUDED."payload_days", "payload_cursor" = EXCLUDED."payload_cursor", "walk_started_at" = EXCLUDED."walk_started_at" RETURNING "walk_started_at";

INSERT INTO "training_data"("project_id", "id", "num_rows", "size_bytes", "sha256", "user_id", "created_at") VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING "created_at";

INSERT INTO "trajectory_batches"("project_id", "id", "model_id", "split", "job_id", "step", "num_groups", "num_trajectories", "body_bytes", "body_sha256", "payload_bytes", "payload_sha256", "created_at") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, DEFAULT) RETURNING "created_at";

INSERT INTO annotation_queue_items (project_id, id, queue_id, position, call_id, call_started_at, call_ended_at,
  call_op_name, call_trace_id, display_fields, created_by)
  SELECT $1, t.item_id, $2, $3::int + row_number() OVER (ORDER BY t.n)::int,
  c.id, c.started_at, c.ended_at, c.op_name, c.trace_id, $4::json, $5
  FROM unnest($6::text[], $7::text[]) WITH ORDINALITY t (id, item_id, n)
  CROSS JOIN LATERAL (SELECT c.id, c.started_at, c.ended_at, c.op_name, c.trace_id FROM calls c
  WHERE c.project_id = $8 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id AND NOT EXISTS (
  SELECT FROM annotation_queue_items i WHERE i.project_id = $9 AND i.queue_id = $10 AND i.call_id = t.id) OFFSET 0) "c";

INSERT INTO body_chunks (project_id, batch_id, seq, text, groups_before)
  VALUES ($1, $2, $3, $4, $5);

INSERT INTO build_chunks (project_id, build_id, seq, split, text)
  VALUES ($1, $2, $3, $4, $5);

INSERT INTO build_inputs (project_id, build_id, kind, id, sha256)
  SELECT $1, $2::uuid, i.* FROM unnest($3::text[],
  $4::text[], $5::text[]) i
  ON CONFLICT DO NOTHING;

INSERT INTO build_jobs (project_id, build_id, job_id, log_batch_id)
  VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

INSERT INTO build_units (project_id, build_id, group_index, trajectory_index, split, unit_id, call_id, reward)
  SELECT $1, $2::uuid, $3::int, u.place - 1, $4, u.unit_id, u.call_id, u.reward
  FROM unnest($5::text[],
  $6::text[],
  $7::float8[])
  WITH ORDINALITY u (unit_id, call_id, reward, place);

INSERT INTO builds (project_id, id, recipe_name, recipe_digest, recipe, mode, builder_version, as_of, digest,
  manifest_digest, num_chunks, counts, lints, facts, user_id)
  VALUES ($1, $2, $3, $4, $5::json,
  $6, $7, $8::timestamptz, $9, $10,
  $11, $12::json, $13::json, $14::json, $15);

INSERT INTO call_indexes (project_id, name, field, kind) VALUES ($1, $2, $3, $4)
  ON CONFLICT (project_id, name) DO UPDATE SET error = NULL;

INSERT INTO call_slot_marks (project_id, slot, call_count, made_at)
  SELECT $1, slot, 0, made_at
  FROM unnest($2::timestamptz[], $3::timestamptz[])
  AS s (slot, made_at);

INSERT INTO call_slots (project_id, slot, call_count, ended_count, error_count, instant_count,
  latency_sum, latency_min, latency_max, latencies, bytes)
  SELECT $1, s.slot, t.* FROM unnest($2::timestamptz[]) AS s (slot) CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE c.source = 'production') AS call_count,
  count(*) FILTER (WHERE c.ended_at >= c.started_at AND c.source = 'production') AS ended_count, count(c.exception) FILTER (WHERE c.source = 'production') AS error_count,
  count(*) FILTER (WHERE c.ended_at = c.started_at AND c.source = 'production') AS instant_count,
  sum((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latency_sum, min((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latency_min,
  max((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latency_max, string_agg(int8send((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint), ''::bytea ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE c.source = 'production') AS latencies,
  coalesce(sum(coalesce(pg_column_size(c.inputs), 0) + coalesce(pg_column_size(c.output), 0)
  + coalesce(pg_column_size(c.attributes), 0) + coalesce(pg_column_size(c.summary), 0)
  + coalesce(pg_column_size(c.otel_dump), 0)), 0) AS bytes FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= s.slot AND c.started_at < s.slot + interval '5 minutes') t
  WHERE t.call_count > 0 OR t.bytes > 0 RETURNING bytes::text;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "is_orphan", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "thread_source", NULL::text AS "run_id", NULL::text AS "run_step", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "summary", NULL::json AS "output", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[], $12::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "source", "own_source", "attributes", "inputs")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "is_orphan", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "thread_source", NULL::text AS "run_id", NULL::text AS "run_step", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::json AS "event_times", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::json[], $19::json[], $20::json[], $21::json[], $22::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "source", "own_source", "ended_at", "exception", "run_step_end", "end_started_at", "end_trace_id", "has_descendant_error", "response_id", "attributes", "inputs", "summary", "output", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::json AS "event_times", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::json[], $27::json[], $28::json[], $29::json[], $30::json[], $31::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "source", "own_source", "ended_at", "exception", "run_step_end", "end_started_at", "end_trace_id", "has_descendant_error", "response_id", "attributes", "inputs", "otel_dump", "summary", "output", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "summary", NULL::json AS "output", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::json[], $18::json[], $19::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "attributes", "inputs", "otel_dump")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::json[], $19::json[], $20::json[], $21::json[], $22::json[], $23::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "ended_at", "attributes", "inputs", "otel_dump", "summary", "output", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::json[], $25::json[], $26::json[], $27::json[], $28::json[], $29::json[], $30::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "ended_at", "exception", "run_step_end", "end_started_at", "end_trace_id", "has_descendant_error", "response_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "new_trace", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "summary", NULL::json AS "output", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::json[], $22::json[], $23::json[]) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "op_name", NULL::text AS "started_at", NULL::text AS "trace_id", NULL::text AS "user_id", NULL::text AS "counts_gross", NULL::json AS "attributes", NULL::json AS "inputs", NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "is_orphan", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "thread_source", NULL::text AS "run_id", NULL::text AS "run_step", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS "has_descendant_error", NULL::text AS "response_id", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::json[], $6::json[], $7::json[]) AS w ("id", "is_opaque", "ended_at", "summary", "output", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "op_name", NULL::text AS "started_at", NULL::text AS "trace_id", NULL::text AS "user_id", NULL::text AS "counts_gross", NULL::json AS "attributes", NULL::json AS "inputs", NULL::text AS "display_name", NULL::text AS "parent_id", NULL::text AS "is_orphan", NULL::text AS "thread_id", NULL::text AS "turn_id", NULL::text AS "thread_source", NULL::text AS "run_id", NULL::text AS "run_step", NULL::json AS "otel_dump", NULL::text AS "new_trace", NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS found_trace FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[], $12::json[], $13::json[]) AS w ("id", "is_opaque", "ended_at", "exception", "run_step_end", "end_started_at", "end_trace_id", "has_descendant_error", "response_id", "summary", "output", "usage")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times" FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::json[], $26::json[], $27::json[], $28::json[], $29::json[], $30::json[], skein_traces($1, $2::text[], $10::text[], $17::text[])) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "new_trace", "ended_at", "exception", "run_step_end", "end_started_at", "end_trace_id", "has_descendant_error", "response_id", "attributes", "inputs", "otel_dump", "summary", "output", "usage", "found_trace")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque
  RETURNING project_id, id, trace_id;

INSERT INTO calls AS c (
  project_id, id, is_opaque, op_name, started_at, display_name, trace_id, parent_id, thread_id, turn_id, thread_source, run_id,
  run_step, user_id, is_orphan, ended_at, exception, run_step_end, has_descendant_error, response_id, counts_gross, has_unread_usage,
  source, own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage")
  SELECT $1::text, id, is_opaque::boolean, op_name, coalesce(started_at, end_started_at)::timestamptz, display_name,
  CASE WHEN op_name IS NULL THEN end_trace_id ELSE coalesce(trace_id, found_trace, end_trace_id, new_trace) END,
  parent_id, thread_id, turn_id, thread_source, run_id, run_step::int, user_id, coalesce(is_orphan::boolean, false), ended_at::timestamptz, exception, run_step_end::int,
  coalesce(has_descendant_error::boolean, false), response_id, coalesce(counts_gross::boolean, false), false,
  coalesce(source, 'production'), own_source, "operation", "agent_name", "agent_version", "linked_call_id", "attributes", "inputs", "otel_dump", "event_times", "summary", "output", "usage"
  FROM (SELECT w.*, NULL::text AS "operation", NULL::text AS "agent_name", NULL::text AS "agent_version", NULL::text AS "linked_call_id", NULL::text AS "source", NULL::text AS "own_source", NULL::json AS "event_times", NULL::text AS "ended_at", NULL::json AS "summary", NULL::json AS "output", NULL::json AS "usage", NULL::text AS "exception", NULL::text AS "run_step_end", NULL::text AS "end_started_at", NULL::text AS "end_trace_id", NULL::text AS "has_descendant_error", NULL::text AS "response_id" FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::json[], $19::json[], $20::json[], skein_traces($1, $2::text[], $10::text[], $17::text[])) AS w ("id", "is_opaque", "op_name", "started_at", "trace_id", "user_id", "counts_gross", "display_name", "parent_id", "is_orphan", "thread_id", "turn_id", "thread_source", "run_id", "run_step", "new_trace", "attributes", "inputs", "otel_dump", "found_trace")) w
  ORDER BY id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  display_name = CASE WHEN NOT (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN c.display_name WHEN (c.is_renamed OR (c.op_name IS NULL AND c.display_name IS NOT NULL)) THEN nullif(c.display_name, '')
  ELSE coalesce(excluded.display_name, c.display_name) END,
  started_at = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."started_at", c."started_at") ELSE coalesce(c."started_at", excluded."started_at") END, trace_id = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END,
  "op_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."op_name" ELSE c."op_name" END, "parent_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."parent_id" ELSE c."parent_id" END, "is_orphan" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."is_orphan" ELSE c."is_orphan" END, "thread_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_id" ELSE c."thread_id" END, "turn_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."turn_id" ELSE c."turn_id" END, "thread_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."thread_source" ELSE c."thread_source" END, "run_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_id" ELSE c."run_id" END, "run_step" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."run_step" ELSE c."run_step" END, "user_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."user_id" ELSE c."user_id" END, "attributes" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."attributes" ELSE c."attributes" END, "otel_dump" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."otel_dump" ELSE c."otel_dump" END, "counts_gross" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."counts_gross" ELSE c."counts_gross" END, "source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."source" ELSE c."source" END, "own_source" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."own_source" ELSE c."own_source" END, "operation" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."operation" ELSE c."operation" END, "agent_name" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_name" ELSE c."agent_name" END, "agent_version" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."agent_version" ELSE c."agent_version" END, "linked_call_id" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."linked_call_id" ELSE c."linked_call_id" END, "event_times" = CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."event_times" ELSE c."event_times" END,
  "ended_at" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."ended_at" ELSE c."ended_at" END, "exception" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."exception" ELSE c."exception" END, "run_step_end" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."run_step_end" ELSE c."run_step_end" END, "has_descendant_error" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."has_descendant_error" ELSE c."has_descendant_error" END, "response_id" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."response_id" ELSE c."response_id" END, "summary" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."summary" ELSE c."summary" END, "usage" = CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."usage" ELSE c."usage" END,
  "own_inputs" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END END,
  "inputs" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."own_inputs" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'inputs')
  WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN excluded."inputs" ELSE c."inputs" END,
  "own_output" = CASE WHEN c.logged IS NOT NULL THEN CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END END,
  "output" = CASE WHEN c.logged IS NOT NULL THEN skein_with_logged(CASE WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."own_output" END, c.logged, CASE WHEN (excluded.op_name IS NOT NULL
  AND (c.op_name IS NULL OR NOT ((c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)) OR (excluded.ended_at IS NULL AND c.ended_at IS NOT NULL
  AND num_nulls(excluded.otel_dump, c.otel_dump) = 0)))) THEN coalesce(excluded."trace_id", c."trace_id") ELSE coalesce(c."trace_id", excluded."trace_id") END, 'output')
  WHEN ((excluded.ended_at IS NOT NULL OR excluded.output IS NOT NULL OR excluded.summary IS NOT NULL)
  AND NOT (c.ended_at IS NOT NULL AND excluded.event_times IS NULL
  AND coalesce(excluded.ended_at < c.ended_at, excluded.output IS NOT NULL OR excluded.summary IS NOT NULL))) THEN excluded."output" ELSE c."output" END,
  is_opaque = c.is_opaque OR excluded.is_opaque
  RETURNING project_id, id, trace_id;

INSERT INTO calls AS c (project_id, id, display_name, has_unread_usage, is_renamed)
  VALUES ($1, $2, $3, false, true)
  ON CONFLICT (project_id, id) DO UPDATE SET is_renamed = true,
  display_name = CASE WHEN c.op_name IS NULL THEN excluded.display_name ELSE nullif(excluded.display_name, '') END;

INSERT INTO calls AS c (project_id, id, started_at, is_opaque, logged, logged_at, has_unread_usage)
  SELECT project_id, id, least(started_at::timestamptz, now()), is_opaque::boolean, logged::jsonb, now(), false
  FROM
  unnest($1::text[], $2::text[],
  $3::text[], $4::text[],
  $5::text[]) AS w (project_id, id, started_at, is_opaque, logged)
  ORDER BY project_id COLLATE "C", id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET
  started_at = coalesce(c.started_at, excluded.started_at), is_opaque = c.is_opaque OR excluded.is_opaque,
  logged = skein_logged(c.logged, excluded.logged, 2000, 4194304), logged_at = CASE WHEN c.op_name IS NULL THEN excluded.logged_at ELSE c.logged_at END,
  own_inputs = CASE WHEN c.logged IS NULL THEN c.inputs ELSE c.own_inputs END, own_output = CASE WHEN c.logged IS NULL THEN c.output ELSE c.own_output END,
  inputs = CASE WHEN c.op_name IS NOT NULL THEN skein_with_logged(CASE WHEN c.logged IS NULL THEN c.inputs ELSE c.own_inputs END, skein_logged(c.logged, excluded.logged, 2000, 4194304), c.trace_id, 'inputs') END, output = CASE WHEN c.op_name IS NOT NULL THEN skein_with_logged(CASE WHEN c.logged IS NULL THEN c.output ELSE c.own_output END, skein_logged(c.logged, excluded.logged, 2000, 4194304), c.trace_id, 'output') END
  WHERE c.logged IS NULL OR jsonb_array_length(skein_logged(c.logged, excluded.logged, 2000, 4194304)) > jsonb_array_length(c.logged)
  RETURNING c.project_id, c.id, c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL AS is_awaited;

INSERT INTO checkpoint_chunks (project_id, upload_id, seq, bytes)
  VALUES ($1, $2, $3, $4);

INSERT INTO checkpoint_parts (project_id, job_id, file, part, upload_id, size_bytes)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO NOTHING RETURNING 1;

INSERT INTO checkpoints (project_id, model_id, step, id, metrics, uri, sha256, size_bytes, job_id, files, config, tainted_at)
  VALUES ($1, $2, $3, $4, $5::jsonb,
  $6, $7, $8, $9, $10::json,
  $11::json, $12::timestamptz);

INSERT INTO costs (project_id, id, llm_id, effective_date, provider_id, prompt_token_cost, completion_token_cost,
  cache_read_input_token_cost, cache_creation_input_token_cost, prompt_token_cost_unit, completion_token_cost_unit)
  SELECT $1, id, llm_id, coalesce(effective_date, now()), coalesce(provider_id, 'default'), prompt, completion,
  cache_read, cache_creation, coalesce(prompt_unit, 'USD'), coalesce(completion_unit, 'USD')
  FROM unnest($2::text[], $3::text[], $4::timestamptz[],
  $5::text[], $6::numeric[], $7::numeric[],
  $8::numeric[], $9::numeric[],
  $10::text[], $11::text[])
  AS t (id, llm_id, effective_date, provider_id, prompt, completion, cache_read, cache_creation, prompt_unit, completion_unit);

INSERT INTO dataset_row_sources (project_id, object_id, row_digest, call_id, trace_id, thread_id, added_at, added_by, erased_at)
  SELECT s.project_id, $1, s.row_digest, s.call_id, s.trace_id, s.thread_id, s.added_at, s.added_by, s.erased_at
  FROM dataset_row_sources s
  WHERE s.project_id = $2 AND s.object_id = $3 AND s.row_digest IN (SELECT unnest($4::text[]))
  ON CONFLICT (project_id, object_id, row_digest, call_id) DO UPDATE SET removed_at = NULL, erased_at = excluded.erased_at;

INSERT INTO dataset_row_sources (project_id, object_id, row_digest, call_id, trace_id, thread_id, added_by)
  SELECT DISTINCT $1, $2, t.digest, t.id, t.trace_id, t.thread_id, $3
  FROM unnest($4::text[], $5::text[],
  $6::text[], $7::text[])
  AS t (digest, id, trace_id, thread_id)
  ON CONFLICT (project_id, object_id, row_digest, call_id) DO UPDATE SET removed_at = NULL, erased_at = NULL;

INSERT INTO gateway_processes (project_id, process_id, began_at, seen_at)
  VALUES ($1, $2::uuid, $3, now())
  ON CONFLICT (project_id, process_id) DO UPDATE SET seen_at = excluded.seen_at;

INSERT INTO media AS m (project_id, id, content_type, size_bytes, sha256, secret)
  VALUES ($1, $2, $3, $4::int, $5, $6::bytea)
  ON CONFLICT (project_id, id) DO UPDATE SET
  content_type = CASE WHEN m.digest IS NULL THEN excluded.content_type ELSE m.content_type END,
  size_bytes = CASE WHEN m.digest IS NULL THEN excluded.size_bytes ELSE m.size_bytes END,
  sha256 = CASE WHEN m.digest IS NULL THEN excluded.sha256 ELSE m.sha256 END
  RETURNING m.size_bytes, m.sha256, m.secret, m.digest IS NOT NULL AS is_here;

INSERT INTO model_alias_moves (project_id, model_id, alias, seq, step, previous_step, moved_at, moved_by, by_hand, gate, reason)
  SELECT $1, $2::uuid, $3,
  1 + coalesce((SELECT max(seq) FROM model_alias_moves WHERE project_id = $4 AND model_id = $5 AND alias = $6), 0),
  $7::int, $8::int, statement_timestamp(), $9, $10::boolean, $11::json, $12
  RETURNING seq;

INSERT INTO model_aliases (project_id, model_id, alias, step, seq)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (project_id, model_id, alias) DO UPDATE SET step = excluded.step, seq = excluded.seq;

INSERT INTO models (project_id, id, name, base_model, user_id)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (project_id, name) WHERE deleted_at IS NULL DO NOTHING RETURNING 1;

INSERT INTO object_aliases (project_id, object_id, alias, version_index)
  SELECT DISTINCT $1, $2, t.alias, $3::int FROM unnest($4::text[]) AS t (alias)
  ON CONFLICT (project_id, object_id, alias) DO UPDATE SET version_index = excluded.version_index;

INSERT INTO object_tags (project_id, object_id, version_index, tag)
  SELECT DISTINCT $1, $2, $3::int, t.tag FROM unnest($4::text[]) AS t (tag)
  ON CONFLICT DO NOTHING;

INSERT INTO object_versions AS v (project_id, object_id, version_index, digest, created_at, is_latest, kind,
  base_object_class, leaf_object_class, user_id, size_bytes, val)
  SELECT $1, $2,
  coalesce((SELECT max(v.version_index) FROM object_versions v WHERE v.project_id = $3 AND v.object_id = $4) + 1, 0),
  $5, statement_timestamp(), true, $6, $7,
  $8, $9, $10::int, $11::json
  ON CONFLICT (project_id, object_id, digest) WHERE deleted_at IS NULL DO UPDATE SET is_latest = true
  RETURNING v.version_index;

INSERT INTO project_marks (project_id, row_count, call_count, bytes, made_at)
  VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::timestamptz);

INSERT INTO projects AS p (project_id, row_count, call_count, bytes, last_activity)
  VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::timestamptz)
  ON CONFLICT (project_id) DO UPDATE SET row_count = p.row_count + excluded.row_count,
  call_count = p.call_count + excluded.call_count, bytes = p.bytes + excluded.bytes,
  last_activity = greatest(p.last_activity, excluded.last_activity);

INSERT INTO served_checkpoints (project_id, model_id, step, provider, upstream_model, expires_at)
  SELECT k.project_id, k.model_id, k.step, $1, $2,
  now() + make_interval(secs => $3)
  FROM checkpoints k
  WHERE k.project_id = $4 AND k.model_id = $5::uuid AND k.step = $6
  ON CONFLICT (project_id, model_id, step, provider)
  DO UPDATE SET upstream_model = excluded.upstream_model, expires_at = excluded.expires_at
  RETURNING expires_at;

INSERT INTO table_rows (project_id, digest, is_opaque, val)
  SELECT $1, r.digest, r.is_opaque, r.val::json
  FROM unnest($2::text[], $3::boolean[],
  $4::text[]) AS r(digest, is_opaque, val)
  ON CONFLICT DO NOTHING;

INSERT INTO tables (project_id, digest, row_digests) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING;

INSERT INTO threads AS t (project_id, thread_id, turn_count, start_time, last_updated, first_turn_id, last_turn_id,
  p50_turn_duration_ms, p99_turn_duration_ms)
  SELECT $1, fresh.* FROM (
  SELECT m.*, s.* FROM (SELECT thread_id FROM unnest($2::text[]) AS m (thread_id)) m CROSS JOIN LATERAL (
  SELECT count(*)::int AS turn_count, min(c.started_at) AS start_time, max(coalesce(c.ended_at, c.started_at)) AS last_updated,
  (array_agg(c.id ORDER BY c.started_at, c.id))[1] AS first_turn_id,
  (array_agg(c.id ORDER BY coalesce(c.ended_at, c.started_at) DESC, c.id))[1] AS last_turn_id,
  percentile_cont(0.50) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)) AS p50_turn_duration_ms,
  percentile_cont(0.99) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)) AS p99_turn_duration_ms FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = c.turn_id AND c.thread_id <> '' AND c.thread_id = m.thread_id AND (TRUE) IS TRUE) s) fresh
  WHERE turn_count > 0
  ON CONFLICT (project_id, thread_id) DO UPDATE SET turn_count = excluded.turn_count, start_time = excluded.start_time,
  last_updated = excluded.last_updated, first_turn_id = excluded.first_turn_id, last_turn_id = excluded.last_turn_id,
  p50_turn_duration_ms = excluded.p50_turn_duration_ms, p99_turn_duration_ms = excluded.p99_turn_duration_ms
  RETURNING thread_id;

INSERT INTO training_job_events (project_id, job_id, seq, id, type, data, attempt, trainer_seq)
  SELECT $1::text, $2::uuid,
  n + (SELECT coalesce(max(seq), 0) FROM training_job_events WHERE project_id = $3 AND job_id = $4),
  event_id, type, data, $5::int, trainer_seq
  FROM (VALUES ($6::int, $7::uuid, $8::text, $9::json, $10::bigint)) AS e (n, event_id, type, data, trainer_seq);

INSERT INTO training_jobs (project_id, id, model_id, batch_id, user_id, kind, training_data_url, config,
  experimental_config, retrains_job_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7,
  $8::json, $9::json, $10);

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

INSERT INTO uploads (project_id, id) VALUES ($1, $2) RETURNING 1;

SELECT "ApiKey"."id" AS "ApiKey_id", "ApiKey"."user_name" AS "ApiKey_user_name", "ApiKey"."role" AS "ApiKey_role", "ApiKey"."scopes" AS "ApiKey_scopes", "ApiKey"."secret_hash" AS "ApiKey_secret_hash", "ApiKey"."hint" AS "ApiKey_hint", "ApiKey"."created_at" AS "ApiKey_created_at", "ApiKey"."expires_at" AS "ApiKey_expires_at", "ApiKey"."revoked_at" AS "ApiKey_revoked_at", "ApiKey"."user_id" AS "ApiKey_user_id", "ApiKey"."created_by" AS "ApiKey_created_by" FROM "api_keys" "ApiKey" WHERE (("ApiKey"."id" = $1)) LIMIT 1;

SELECT "Checkpoint"."project_id" AS "Checkpoint_project_id", "Checkpoint"."model_id" AS "Checkpoint_model_id", "Checkpoint"."step" AS "Checkpoint_step", "Checkpoint"."id" AS "Checkpoint_id", "Checkpoint"."metrics" AS "Checkpoint_metrics", "Checkpoint"."job_id" AS "Checkpoint_job_id", "Checkpoint"."uri" AS "Checkpoint_uri", "Checkpoint"."sha256" AS "Checkpoint_sha256", "Checkpoint"."size_bytes" AS "Checkpoint_size_bytes", "Checkpoint"."files" AS "Checkpoint_files", "Checkpoint"."config" AS "Checkpoint_config", "Checkpoint"."created_at" AS "Checkpoint_created_at", "Checkpoint"."tainted_at" AS "Checkpoint_tainted_at" FROM "checkpoints" "Checkpoint" WHERE (("Checkpoint"."project_id" = $1) AND ("Checkpoint"."model_id" = $2) AND ("Checkpoint"."step" = $3)) LIMIT 1;

SELECT "Erasing"."counts" AS "Erasing_counts", "Erasing"."ended_at" AS "Erasing_ended_at", "Erasing"."project_id" AS "Erasing_project_id", "Erasing"."id" AS "Erasing_id" FROM "erasings" "Erasing" WHERE (("Erasing"."project_id" = $1) AND ("Erasing"."id" = $2)) LIMIT 1;

SELECT "Media"."project_id" AS "Media_project_id", "Media"."id" AS "Media_id", "Media"."content_type" AS "Media_content_type", "Media"."size_bytes" AS "Media_size_bytes", "Media"."sha256" AS "Media_sha256", "Media"."secret" AS "Media_secret", "Media"."digest" AS "Media_digest", "Media"."uploaded_at" AS "Media_uploaded_at" FROM "media" "Media" WHERE (("Media"."project_id" = $1) AND ("Media"."id" = $2)) LIMIT 1;

SELECT "Membership"."id" AS "Membership_id", "Membership"."scope" AS "Membership_scope", "Membership"."kind" AS "Membership_kind", "Membership"."issuer" AS "Membership_issuer", "Membership"."subject" AS "Membership_subject", "Membership"."role" AS "Membership_role", "Membership"."created_at" AS "Membership_created_at" FROM "memberships" "Membership" WHERE "Membership"."id" = $1;

SELECT "Membership"."id" AS "Membership_id", "Membership"."scope" AS "Membership_scope", "Membership"."kind" AS "Membership_kind", "Membership"."issuer" AS "Membership_issuer", "Membership"."subject" AS "Membership_subject", "Membership"."role" AS "Membership_role", "Membership"."created_at" AS "Membership_created_at" FROM "memberships" "Membership" WHERE (("Membership"."kind" = $1) AND ("Membership"."issuer" = $2) AND ("Membership"."subject" = $3) AND ("Membership"."scope" = $4)) LIMIT 1;

SELECT "Model"."project_id" AS "Model_project_id", "Model"."id" AS "Model_id", "Model"."name" AS "Model_name", "Model"."base_model" AS "Model_base_model", "Model"."user_id" AS "Model_user_id", "Model"."created_at" AS "Model_created_at", "Model"."deleted_at" AS "Model_deleted_at" FROM "models" "Model" WHERE (("Model"."id" = $1) AND ("Model"."deleted_at" IS NULL)) LIMIT 1;

SELECT "ModelAlias"."project_id" AS "ModelAlias_project_id", "ModelAlias"."model_id" AS "ModelAlias_model_id", "ModelAlias"."alias" AS "ModelAlias_alias", "ModelAlias"."step" AS "ModelAlias_step", "ModelAlias"."seq" AS "ModelAlias_seq" FROM "model_aliases" "ModelAlias" WHERE (("ModelAlias"."project_id" = $1) AND ("ModelAlias"."model_id" = $2) AND ("ModelAlias"."alias" = $3)) LIMIT 1;

SELECT "RetentionPolicy"."project_id" AS "RetentionPolicy_project_id", "RetentionPolicy"."calls_days" AS "RetentionPolicy_calls_days", "RetentionPolicy"."payload_days" AS "RetentionPolicy_payload_days", "RetentionPolicy"."payload_cursor" AS "RetentionPolicy_payload_cursor", "RetentionPolicy"."walk_started_at" AS "RetentionPolicy_walk_started_at" FROM "retention_policies" "RetentionPolicy" WHERE (("RetentionPolicy"."project_id" = $1)) LIMIT 1;

SELECT "TrainingData"."project_id" AS "TrainingData_project_id", "TrainingData"."id" AS "TrainingData_id", "TrainingData"."num_rows" AS "TrainingData_num_rows", "TrainingData"."size_bytes" AS "TrainingData_size_bytes", "TrainingData"."sha256" AS "TrainingData_sha256", "TrainingData"."user_id" AS "TrainingData_user_id", "TrainingData"."created_at" AS "TrainingData_created_at" FROM "training_data" "TrainingData" WHERE (("TrainingData"."id" = $1)) LIMIT 1;

SELECT "TrainingJob"."state" AS "TrainingJob_state", "TrainingJob"."project_id" AS "TrainingJob_project_id", "TrainingJob"."id" AS "TrainingJob_id" FROM "training_jobs" "TrainingJob" WHERE (("TrainingJob"."project_id" = $1) AND ("TrainingJob"."id" = $2)) LIMIT 1;

SELECT 'build ' || id AS node, to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS tainted_at FROM builds
  WHERE project_id = $1 AND id = ANY($2::uuid[]) AND tainted_at IS NOT NULL
  UNION ALL
  SELECT 'job ' || id, to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM training_jobs
  WHERE project_id = $3 AND id = ANY($4::uuid[]) AND tainted_at IS NOT NULL
  UNION ALL
  SELECT 'checkpoint ' || model_id || ' ' || step, to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM checkpoints
  WHERE project_id = $5 AND model_id = ANY($6::uuid[]) AND tainted_at IS NOT NULL;

SELECT (
  SELECT row_to_json(o)::text FROM (
  SELECT r.digest, r.val, p.n AS original_index FROM table_rows r
  WHERE r.project_id = $1 AND r.digest = p.digest) o) FROM (
  SELECT p.n, convert_from(substring(p.row_digests FROM p.n * $2::int + 1 FOR $3::int), 'UTF8') AS digest
  FROM (
  SELECT t.row_digests, generate_series($4::bigint, least($5::bigint, octet_length(t.row_digests) / $6::int) - 1)::int AS n
  FROM tables t WHERE t.project_id = $7 AND t.digest = $8) p) p; -- a list

SELECT (SELECT row_to_json(t)::text FROM (SELECT f.id AS "id", f.project_id AS "project_id", to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", (CASE WHEN starts_with(f.ref, $1::text) THEN $2::text || substr(f.ref, $3::int) ELSE f.ref END) AS "svc_ref", (CASE WHEN starts_with(f.feedback_type, $4::text) THEN $5::text || substr(f.feedback_type, $6::int) ELSE f.feedback_type END) AS "feedback_type", f.payload AS "payload", f.creator AS "creator", (CASE WHEN starts_with(f.annotation_ref, $7::text) THEN $8::text || substr(f.annotation_ref, $9::int) ELSE f.annotation_ref END) AS "annotation_ref", (CASE WHEN starts_with(f.runnable_ref, $10::text) THEN $11::text || substr(f.runnable_ref, $12::int) ELSE f.runnable_ref END) AS "runnable_ref", (CASE WHEN starts_with(f.call_ref, $13::text) THEN $14::text || substr(f.call_ref, $15::int) ELSE f.call_ref END) AS "call_ref", (CASE WHEN starts_with(f.trigger_ref, $16::text) THEN $17::text || substr(f.trigger_ref, $18::int) ELSE f.trigger_ref END) AS "trigger_ref", f.queue_id AS "queue_id", coalesce(f."scorer_tags", '[]') AS "scorer_tags", coalesce(f."scorer_tag_reasons", '{}') AS "scorer_tag_reasons", coalesce(f."scorer_tag_confidences", '{}') AS "scorer_tag_confidences", coalesce(f."scorer_ratings", '{}') AS "scorer_ratings", coalesce(f."scorer_rating_reasons", '{}') AS "scorer_rating_reasons", coalesce(f."scorer_rating_confidences", '{}') AS "scorer_rating_confidences", coalesce(f."span_agent_name", '') AS "span_agent_name", coalesce(f."span_agent_version", '') AS "span_agent_version", coalesce(f."span_status_code", 'UNSET') AS "span_status_code", coalesce(f."span_conversation_id", '') AS "span_conversation_id", coalesce(f."span_trace_id", '') AS "span_trace_id", coalesce(f."scorer_trace_id", '') AS "scorer_trace_id", f.user_id AS "svc_user_id") t) AS json FROM (
  SELECT f.* FROM feedback f WHERE f.project_id = $19 AND CASE
  WHEN split_part(f.ref, '/', $20::int) || '/' || split_part(f.ref, '/', $21::int) <> $22 THEN TRUE
  WHEN split_part(f.ref, '/', $23::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $24 AND c.id = split_part(f.ref, '/', $25::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $26::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $27 AND c.trace_id = split_part(f.ref, '/', $28::int)) IS NOT FALSE
  ELSE TRUE END ORDER BY f.created_at ASC NULLS LAST, f.id COLLATE "C" ASC NULLS LAST
  LIMIT $29::bigint OFFSET $30::bigint) f; -- a list

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "annotation_queues" "AnnotationQueue" WHERE (("AnnotationQueue"."project_id" = $1) AND ("AnnotationQueue"."id" = $2) AND ("AnnotationQueue"."deleted_at" IS NULL))) LIMIT 1;

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "checkpoints" "Checkpoint" WHERE (("Checkpoint"."project_id" = $1) AND ("Checkpoint"."model_id" = $2) AND ("Checkpoint"."step" = $3))) LIMIT 1;

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "object_versions" "ObjectVersion" WHERE (("ObjectVersion"."project_id" = $1) AND ("ObjectVersion"."object_id" = $2) AND ("ObjectVersion"."is_latest" = $3))) LIMIT 1;

SELECT 1 FROM models m
  WHERE m.project_id = $1 AND m.id = $2 AND m.deleted_at IS NULL FOR NO KEY UPDATE;

SELECT 1 FROM served_checkpoints
  WHERE project_id <> $1 AND provider = $2 AND upstream_model = $3
  AND (step > 0 OR $4::int > 0) AND expires_at > now() LIMIT 1;

SELECT 1 FROM training_data d WHERE d.project_id = $1 AND d.id = $2 FOR SHARE;

SELECT ARRAY[]::text[] AS key FROM "orphan_walks" t WHERE t.project_id = $1
  LIMIT 1;

SELECT ARRAY[]::text[] AS key FROM "retention_policies" t WHERE t.project_id = $1
  LIMIT 1;

SELECT ARRAY[t."api_key_id"::text, t."key"::text]::text[] AS key FROM "idempotency_keys" t WHERE t.project_id = $1
  ORDER BY t."api_key_id" DESC, t."key" DESC LIMIT 1;

SELECT ARRAY[t."batch_id"::text, t."seq"::text]::text[] AS key FROM "body_chunks" t WHERE t.project_id = $1
  ORDER BY t."batch_id" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."group_index"::text, t."trajectory_index"::text]::text[] AS key FROM "build_units" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."group_index" DESC, t."trajectory_index" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."job_id"::text]::text[] AS key FROM "build_jobs" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."job_id" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."kind"::text, t."id"::text]::text[] AS key FROM "build_inputs" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."kind" DESC, t."id" DESC LIMIT 1;

SELECT ARRAY[t."build_id"::text, t."seq"::text]::text[] AS key FROM "build_chunks" t WHERE t.project_id = $1
  ORDER BY t."build_id" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."digest"::text]::text[] AS key FROM "files" t WHERE t.project_id = $1
  ORDER BY t."digest" DESC LIMIT 1;

SELECT ARRAY[t."digest"::text]::text[] AS key FROM "table_rows" t WHERE t.project_id = $1
  ORDER BY t."digest" DESC LIMIT 1;

SELECT ARRAY[t."digest"::text]::text[] AS key FROM "tables" t WHERE t.project_id = $1
  ORDER BY t."digest" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "annotation_queue_items" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "annotation_queues" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "builds" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "calls" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "costs" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "feedback" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "folded_spans" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "media" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "models" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "training_data" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "training_jobs" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "trajectories" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."id"::text]::text[] AS key FROM "trajectory_batches" t WHERE t.project_id = $1
  ORDER BY t."id" DESC LIMIT 1;

SELECT ARRAY[t."item_id"::text, t."user_id"::text]::text[] AS key FROM "annotation_progress" t WHERE t.project_id = $1
  ORDER BY t."item_id" DESC, t."user_id" DESC LIMIT 1;

SELECT ARRAY[t."job_id"::text, t."file"::text, t."part"::text]::text[] AS key FROM "checkpoint_parts" t WHERE t.project_id = $1
  ORDER BY t."job_id" DESC, t."file" DESC, t."part" DESC LIMIT 1;

SELECT ARRAY[t."job_id"::text, t."seq"::text]::text[] AS key FROM "training_job_events" t WHERE t.project_id = $1
  ORDER BY t."job_id" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."alias"::text, t."seq"::text]::text[] AS key FROM "model_alias_moves" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."alias" DESC, t."seq" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."alias"::text]::text[] AS key FROM "model_aliases" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."alias" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."step"::text, t."provider"::text]::text[] AS key FROM "served_checkpoints" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."step" DESC, t."provider" DESC LIMIT 1;

SELECT ARRAY[t."model_id"::text, t."step"::text]::text[] AS key FROM "checkpoints" t WHERE t.project_id = $1
  ORDER BY t."model_id" DESC, t."step" DESC LIMIT 1;

SELECT ARRAY[t."name"::text]::text[] AS key FROM "call_indexes" t WHERE t.project_id = $1
  ORDER BY t."name" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."alias"::text]::text[] AS key FROM "object_aliases" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."alias" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."row_digest"::text, t."call_id"::text]::text[] AS key FROM "dataset_row_sources" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."row_digest" DESC, t."call_id" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."version_index"::text, t."tag"::text]::text[] AS key FROM "object_tags" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."version_index" DESC, t."tag" DESC LIMIT 1;

SELECT ARRAY[t."object_id"::text, t."version_index"::text]::text[] AS key FROM "object_versions" t WHERE t.project_id = $1
  ORDER BY t."object_id" DESC, t."version_index" DESC LIMIT 1;

SELECT ARRAY[t."process_id"::text]::text[] AS key FROM "gateway_processes" t WHERE t.project_id = $1
  ORDER BY t."process_id" DESC LIMIT 1;

SELECT ARRAY[t."upload_id"::text, t."chunk_index"::text]::text[] AS key FROM "file_chunks" t WHERE t.project_id = $1
  ORDER BY t."upload_id" DESC, t."chunk_index" DESC LIMIT 1;

SELECT ARRAY[t."upload_id"::text, t."seq"::text]::text[] AS key FROM "checkpoint_chunks" t WHERE t.project_id = $1
  ORDER BY t."upload_id" DESC, t."seq" DESC LIMIT 1;

SELECT CASE WHEN type <> 'training_started' OR attempt = $1 THEN trainer_seq::float8 END AS seq, type
  FROM training_job_events
  WHERE project_id = $2 AND job_id = $3
  AND (type = 'training_started' OR (attempt = $4 AND trainer_seq = ANY($5::bigint[])));

SELECT CASE WHEN v.size_bytes <= $1 THEN v.val::text END AS val FROM object_versions v
  WHERE v.project_id = $2 AND v.object_id = $3 AND v.deleted_at IS NULL AND v.digest = $4;

SELECT CASE WHEN v.size_bytes <= $1 THEN v.val::text END AS val FROM object_versions v
  WHERE v.project_id = $2 AND v.object_id = $3 AND v.deleted_at IS NULL AND v.is_latest;

SELECT COUNT(1) AS "cnt" FROM "memberships" "Membership" WHERE (("Membership"."kind" = $1) AND ("Membership"."issuer" = $2) AND ("Membership"."subject" = $3) AND (("Membership"."scope" > $4 AND "Membership"."scope" < $5)));

SELECT COUNT(1) AS "cnt" FROM "memberships" "Membership" WHERE (("Membership"."scope" = $1));

SELECT COUNT(1) AS "cnt" FROM "memberships" "Membership" WHERE ((("Membership"."scope" > $1 AND "Membership"."scope" < $2)));

SELECT COUNT(1) AS "cnt" FROM "object_aliases" "ObjectAlias" WHERE (("ObjectAlias"."project_id" = $1) AND ("ObjectAlias"."object_id" = $2));

SELECT COUNT(1) AS "cnt" FROM "object_tags" "ObjectTag" WHERE (("ObjectTag"."project_id" = $1) AND ("ObjectTag"."object_id" = $2) AND ("ObjectTag"."version_index" = $3));

SELECT DISTINCT c.project_id, c.parent_id FROM calls c
  WHERE c.is_orphan AND (c.project_id, c.parent_id) > ($1, $2)
  ORDER BY c.project_id, c.parent_id LIMIT $3::bigint;

SELECT DISTINCT i.build_id AS id FROM build_inputs i
  WHERE i.project_id = $1 AND i.kind = 'call' AND i.id = ANY($2::text[])
  ORDER BY id LIMIT $3;

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

SELECT DISTINCT to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM costs p
  WHERE p.project_id = $1 AND p.effective_date > $2::timestamptz AND p.effective_date < $3::timestamptz
  ORDER BY 1 LIMIT $4::bigint;

SELECT DISTINCT v.digest FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.version_index = ANY($3::int[])
  AND NOT EXISTS (SELECT FROM object_versions o WHERE o.project_id = $4 AND o.object_id = $5
  AND o.digest = v.digest AND o.version_index <> ALL($6::int[]));

SELECT FROM kept_trials WHERE project_id = $1 LIMIT 1;

SELECT alias, step FROM model_aliases
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) ORDER BY alias;

SELECT bj.build_id, j.id AS job_id, j.model_id, m.name AS model, j.step, j.parent_step
  FROM training_jobs j
  LEFT JOIN build_jobs bj ON bj.project_id = $1 AND bj.job_id = j.id
  LEFT JOIN models m ON m.project_id = $2 AND m.id = j.model_id
  WHERE j.project_id = $3 AND j.id = ANY(ARRAY(SELECT job_id FROM build_jobs
  WHERE project_id = $4 AND build_id = ANY($5::uuid[]))) ORDER BY j.id, bj.build_id LIMIT $6;

SELECT bucket, count(*)::int AS count, ARRAY[(avg("n0"))::float8, (min("n0"))::float8, (max("n0"))::float8]::float8[] AS "m0"
  FROM (SELECT *, (SELECT CASE WHEN abs(x.n) < 1e290 THEN round(x.n, 60) END FROM (SELECT skein_number("t0") AS n OFFSET 0) "x") AS "n0" FROM (
  SELECT width_bucket(f.created_at, $1::timestamptz[]) - 1 AS bucket, (CASE WHEN f.is_opaque THEN skein_safe_json(f.payload) ELSE f.payload END #>> $2::text[]) AS "t0"
  FROM feedback f WHERE f.project_id = $3 AND f.created_at >= $4::timestamptz AND f.created_at < $5::timestamptz AND CASE
  WHEN split_part(f.ref, '/', $6::int) || '/' || split_part(f.ref, '/', $7::int) <> $8 THEN TRUE
  WHEN split_part(f.ref, '/', $9::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $10 AND c.id = split_part(f.ref, '/', $11::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $12::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $13 AND c.trace_id = split_part(f.ref, '/', $14::int)) IS NOT FALSE
  ELSE TRUE END OFFSET 0) "t" OFFSET 0) "v"
  GROUP BY GROUPING SETS ((bucket), ()) ORDER BY bucket;

SELECT c.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT id, trace_id, parent_id, op_name, deleted_at IS NOT NULL AS is_deleted, linked_call_id, source, own_source
  FROM calls WHERE project_id = $2::text AND id = t.id OFFSET 0) "c";

SELECT c.digest, min(c.key) AS key, count(*)::int AS calls, count(c.score)::int AS scored,
  round(avg(c.score), 20)::float8 AS mean
  FROM (
  SELECT CASE WHEN num_nonnulls(c.keys[$1::int]) > 0 THEN coalesce(skein_content_sha256(c.keys[$2::int]), '-') END AS digest, left(c.keys[$3::int], $4::int) AS key,
  CASE WHEN abs(CASE c.score WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE skein_number(c.score) END) <= 1e100 THEN CASE c.score WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE skein_number(c.score) END END AS score
  FROM (
  SELECT ARRAY[(CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $5::text[])::text]::text[] AS keys, (SELECT (CASE WHEN f.is_opaque THEN skein_safe_json(f.payload) ELSE f.payload END #>> $6::text[]) FROM feedback f WHERE f.project_id = $7 AND f.ref IN ($8::text || c.id, $9::text || c.id) AND (f.feedback_type = ANY($10::text[]))
  ORDER BY f.created_at DESC, f.id DESC LIMIT 1)::text AS score FROM calls c
  WHERE c.project_id = $11 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $12::text[]) IS NOT NULL THEN TRUE
  ELSE coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $13::text[]) = $14, FALSE) END AND TRUE
  ORDER BY c.started_at DESC, c.id LIMIT $15) c) c
  GROUP BY c.digest;

SELECT c.id, ((coalesce(pg_column_size(c."attributes")::bigint
  * CASE pg_column_compression(c."attributes") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."inputs")::bigint
  * CASE pg_column_compression(c."inputs") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."output")::bigint
  * CASE pg_column_compression(c."output") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."summary")::bigint
  * CASE pg_column_compression(c."summary") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0) + coalesce(pg_column_size(c."otel_dump")::bigint
  * CASE pg_column_compression(c."otel_dump") WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0)) + coalesce(pg_column_size(c.event_times)::bigint
  * CASE pg_column_compression(c.event_times) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0))::float8 AS bytes
  FROM calls c WHERE c.project_id = $1 AND c.id = ANY($2::text[]) AND c.op_name IS NOT NULL;

SELECT c.id, ARRAY[CASE WHEN length((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[])::text) > 200
  THEN 'sha256:' || encode(sha256(convert_to((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[])::text, 'UTF8')), 'hex') ELSE (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[])::text END]::text[] AS keys FROM calls c
  WHERE c.project_id = $2 AND c.id IN (SELECT unnest($3::text[]));

SELECT c.id, CASE WHEN octet_length(c.inputs::text) <= $1::int THEN c.inputs::text END AS inputs, CASE WHEN octet_length(c.output::text) <= $2::int THEN c.output::text END AS output
  FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($4::text[]);

SELECT c.id, CASE WHEN strpos(c.op_name, '/op/') > 0
  THEN split_part(split_part(c.op_name, '/op/', 2), ':', 1) ELSE c.op_name END AS op_name, c.display_name, c.trace_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, c.exception,
  CASE WHEN length((CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $1::text[])) <= 2048 THEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $1::text[]) END AS evaluation_ref, CASE WHEN length((CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) <= 2048 THEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[]) END AS model_ref
  FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($4::text[]));

SELECT c.id, c.bytes, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, c.exception, c.usage_text AS usage,
  CASE WHEN c.bytes <= $1::bigint THEN c.attributes::text END AS attributes,
  CASE WHEN c.bytes <= $2::bigint THEN c.inputs::text END AS inputs, CASE WHEN c.bytes <= $3::bigint THEN c.output::text END AS output
  FROM (SELECT c.*, coalesce(octet_length(c.attributes::text), 0) + coalesce(octet_length(c.inputs::text), 0)
  + coalesce(octet_length(c.output::text), 0) AS bytes, (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $4::text[])::text AS usage_text
  FROM calls c WHERE c.project_id = $5 AND c.id IN (SELECT unnest($6::text[]))) c;

SELECT c.id, c.op_name, c.display_name, c.trace_id, c.parent_id, c.thread_id, c.turn_id, c.exception,
  c.run_id AS "svc_run_id", c.run_step AS "svc_run_step", c.run_step_end AS "svc_run_step_end",
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at,
  c.attributes::text, c.inputs::text, c.output::text, c.summary::text, c.event_times::text, c.otel_dump::text
  FROM calls c WHERE c.project_id = $1 AND c.id = ANY($2::text[]) AND c.op_name IS NOT NULL;

SELECT c.id, c.project_id, c.op_name, c.display_name, c.trace_id, c.parent_id, c.thread_id, (c.turn_id || ''), c.started_at, c.ended_at, c.exception, c.user_id, c.run_id, c.run_step, c.run_step_end, c.deleted_at, c.attributes, c.otel_dump, c.inputs, c.output, c.summary, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), coalesce(c.display_name,
  CASE WHEN (starts_with(c.op_name, $1::text) OR starts_with(c.op_name, $2::text)) AND split_part(c.op_name, '/', $3::int) <> '' AND split_part(c.op_name, '/', $4::int) <> ''
  AND split_part(c.op_name, '/', $5::int) = 'op' AND strpos(split_part(c.op_name, '/', $6::int), ':') > 1 THEN split_part(split_part(c.op_name, '/', $7::int), ':', 1) END,
  c.op_name), (
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
  WHERE p.project_id = $8 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)), to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END)::text, c.counts_gross::text FROM (SELECT c.* FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = $10) c, LATERAL (SELECT c.trace_id, ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $11 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $12 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $13 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $14::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AS is_root) r; -- a list

SELECT c.id, c.project_id, c.op_name, c.display_name, c.trace_id, c.parent_id, c.thread_id, (c.turn_id || ''), c.started_at, c.ended_at, c.exception, c.user_id, c.run_id, c.run_step, c.run_step_end, c.deleted_at, c.attributes, c.otel_dump, c.inputs, c.output, c.summary, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), coalesce(c.display_name,
  CASE WHEN (starts_with(c.op_name, $1::text) OR starts_with(c.op_name, $2::text)) AND split_part(c.op_name, '/', $3::int) <> '' AND split_part(c.op_name, '/', $4::int) <> ''
  AND split_part(c.op_name, '/', $5::int) = 'op' AND strpos(split_part(c.op_name, '/', $6::int), ':') > 1 THEN split_part(split_part(c.op_name, '/', $7::int), ':', 1) END,
  c.op_name), (
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
  WHERE p.project_id = $8 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)), to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END)::text, c.counts_gross::text, (
  SELECT ('[' || coalesce(string_agg(row_to_json(t)::text, ',' ORDER BY t.created_at, t.id), '') || ']')::json
  FROM (SELECT f.id, f.project_id, to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, (CASE WHEN starts_with(f.ref, $9::text) THEN $10::text || substr(f.ref, $11::int) ELSE f.ref END) AS "svc_ref",
  (CASE WHEN starts_with(f.feedback_type, $12::text) THEN $13::text || substr(f.feedback_type, $14::int) ELSE f.feedback_type END) AS feedback_type, f.payload, f.creator, f.annotation_ref, f.runnable_ref, f.call_ref, f.trigger_ref, f.queue_id, coalesce(f."scorer_tags", '[]') AS "scorer_tags", coalesce(f."scorer_tag_reasons", '{}') AS "scorer_tag_reasons", coalesce(f."scorer_tag_confidences", '{}') AS "scorer_tag_confidences", coalesce(f."scorer_ratings", '{}') AS "scorer_ratings", coalesce(f."scorer_rating_reasons", '{}') AS "scorer_rating_reasons", coalesce(f."scorer_rating_confidences", '{}') AS "scorer_rating_confidences", coalesce(f."span_agent_name", '') AS "span_agent_name", coalesce(f."span_agent_version", '') AS "span_agent_version", coalesce(f."span_status_code", 'UNSET') AS "span_status_code", coalesce(f."span_conversation_id", '') AS "span_conversation_id", coalesce(f."span_trace_id", '') AS "span_trace_id", coalesce(f."scorer_trace_id", '') AS "scorer_trace_id",
  f.user_id AS "svc_user_id"
  FROM (SELECT f.*, sum(octet_length(f.payload::text) + (coalesce(octet_length(f."scorer_tags"::text), 0) + coalesce(octet_length(f."scorer_tag_reasons"::text), 0) + coalesce(octet_length(f."scorer_tag_confidences"::text), 0) + coalesce(octet_length(f."scorer_ratings"::text), 0) + coalesce(octet_length(f."scorer_rating_reasons"::text), 0) + coalesce(octet_length(f."scorer_rating_confidences"::text), 0))) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
  FROM (SELECT f.* FROM feedback f WHERE f.project_id = $15 AND f.ref IN ($16::text || c.id, $17::text || c.id)
  ORDER BY f.created_at DESC, f.id DESC LIMIT $18::bigint) f) f
  WHERE f.bytes <= $19::bigint) t) FROM (SELECT c.* FROM calls c WHERE c.project_id = $20 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND TRUE AND TRUE ORDER BY c.started_at ASC NULLS LAST, c.id COLLATE "C" ASC NULLS LAST ) c, LATERAL (SELECT c.trace_id, ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $21 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $22 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $23 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $24::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) AS is_root) r; -- a list

SELECT c.id, c.trace_id FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT id, trace_id FROM calls WHERE project_id = $2 AND id = t.id AND trace_id IS NOT NULL OFFSET 0) "c";

SELECT c.id, c.trace_id, c.thread_id FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = ANY($2::text[])
  ORDER BY c.started_at, c.id LIMIT $3::bigint;

SELECT c.id, c.trace_id, c.thread_id FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.thread_id FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id OFFSET 0) "c";

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

SELECT c.id, num_nonnulls(c.parent_id, c.event_times) = 2 AS is_below FROM (SELECT c.* FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = $2 AND (c.parent_id IS NULL OR c.is_orphan)
  ORDER BY c.started_at, c.id LIMIT $3::bigint OFFSET 0) "c" WHERE ((c.parent_id IS NULL OR c.is_orphan) AND (c.parent_id IS NULL OR ((SELECT TRUE FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE LIMIT 1) IS NOT TRUE OR (
  WITH RECURSIVE above AS (
  SELECT p.id, p.parent_id, p.started_at, p.is_orphan, 1 AS level FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE
  UNION ALL
  SELECT p.*, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.id, p.parent_id, p.started_at, p.is_orphan FROM calls p WHERE p.project_id = $6 AND p.id = a.parent_id
  AND (p.trace_id = c.trace_id AND p.op_name IS NOT NULL AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p" WHERE a.id <> c.id AND a.level < $7::int)
  SELECT bool_or(a.id = c.id) AND bool_or(a.is_orphan AND (a.started_at, a.id) < (c.started_at, c.id)) IS NOT TRUE FROM above a)))) ORDER BY c.started_at, c.id LIMIT 1;

SELECT c.id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at,
  c.event_times::text AS event_times
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($2::text[])
  AND c.trace_id = c.id AND c.parent_id IS NULL;

SELECT c.project_id, array_agg(c.id) AS ids FROM (
  SELECT c.project_id, c.id FROM calls c WHERE c.op_name IS NULL AND c.logged_at < now() - interval '1 day' ORDER BY c.logged_at, c.project_id, c.id LIMIT $1::bigint) c
  GROUP BY c.project_id;

SELECT c.project_id, array_agg(c.id) AS ids FROM (
  SELECT c.project_id, c.id FROM calls c WHERE c.op_name IS NULL AND c.logged_at IS NULL ORDER BY c.logged_at, c.project_id, c.id LIMIT $1::bigint) c
  GROUP BY c.project_id;

SELECT c.trace_id AS turn, count(*) OVER ()::int AS total FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.thread_id || '') = $2 AND c.thread_id <> '' AND c.operation IS NOT NULL
  GROUP BY c.trace_id ORDER BY min(c.started_at) DESC, turn LIMIT $3::bigint OFFSET $4::bigint;

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

SELECT c.trace_id, to_char(min(c.started_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS first,
  to_char(max(greatest(c.started_at, c.ended_at)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS last
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id <> c.trace_id
  AND c.trace_id = ANY($2::text[])
  GROUP BY c.trace_id;

SELECT coalesce(CASE WHEN c.is_opaque THEN skein_safe_json(c.output) ELSE c.output END, 'null'::json)::text FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = $2 AND c.ended_at IS NOT NULL
  AND (c.op_name LIKE '%Evaluation.predict_and_score%' OR c.op_name LIKE '%Evaluation.predictAndScore%')
  ORDER BY c.started_at, c.id; -- a list

SELECT coalesce(sum(s.call_count), 0)::bigint AS count
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE p.project_id = $1
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE m.project_id = $2
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, 0, m.made_at FROM call_slot_marks m WHERE m.project_id = $3) s;

SELECT coalesce(w.name, t.name) AS name, t.name IS NOT NULL AS is_there,
  CASE WHEN w.name IS NOT NULL AND w.error IS NULL THEN
  json_build_object('project_id', w.project_id, 'name', w.name, 'field', w.field, 'kind', w.kind) END AS wanted
  FROM call_indexes w FULL JOIN (
  SELECT c.relname::text COLLATE "C" AS name, x.indisvalid AS is_valid, pg_relation_size(c.oid) AS bytes
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
  WHERE x.indrelid = 'calls'::regclass AND starts_with(c.relname::text, $1::text)) t ON t.name = w.name
  WHERE CASE WHEN w.name IS NULL THEN TRUE WHEN t.name IS NULL THEN w.error IS NULL ELSE NOT t.is_valid END
  ORDER BY t.name IS NULL, w.created_at, name LIMIT 1;

SELECT concat_ws(E'\n', b.id, t.group_index, t.trajectory_index, json_build_object('id', t.id, 'model_id', b.model_id, 'job_id', b.job_id, 'split', b.split,
  'step', b.step, 'group_index', t.group_index, 'trajectory_index', t.trajectory_index, 'num_tokens', t.num_tokens,
  'created_at', to_char(b.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, t.document::text) AS row
  FROM trajectory_batches b
  JOIN trajectories t ON t.project_id = b.project_id AND t.batch_id = b.id
  WHERE b.project_id = $1 AND b.model_id = $2
  ORDER BY t.id::text COLLATE "C" ASC NULLS LAST
  LIMIT $3::bigint OFFSET $4::bigint; -- a list

SELECT count(*) FILTER (WHERE project_id = $1)::int AS of_project,
  count(*) FILTER (WHERE split_part(project_id, '/', 1) = split_part($2, '/', 1))::int AS of_entity, count(*)::int AS total
  FROM call_indexes WHERE (project_id, name) <> ($3, $4);

SELECT count(*)::int AS calls, coalesce(sum(octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0)
  + octet_length(c.attributes::text)), 0)::float8 AS bytes
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = $2;

SELECT count(*)::int AS count FROM (
  SELECT 1 FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($2::text[])
  LIMIT $3::bigint) t;

SELECT count(*)::int AS count FROM annotation_queues q WHERE q.project_id = $1 AND q.deleted_at IS NULL;

SELECT count(*)::int AS count FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT 1 FROM annotation_queue_items i WHERE i.project_id = $2 AND i.queue_id = $3 AND i.call_id = t.id OFFSET 0) "i";

SELECT count(*)::int AS parts FROM checkpoint_parts WHERE project_id = $1 AND job_id = $2;

SELECT count(*)::int AS rows FROM (SELECT c.id FROM calls c WHERE (c.has_unread_usage OR c.usage IS NOT NULL AND (c.usage -> 0 ->> 'reader') IS DISTINCT FROM '1') LIMIT $1::bigint) c;

SELECT count(*)::int AS total_count FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($2::text[]);

SELECT count(*)::int AS total_count FROM feedback f WHERE f.project_id = $1 AND CASE
  WHEN split_part(f.ref, '/', $2::int) || '/' || split_part(f.ref, '/', $3::int) <> $4 THEN TRUE
  WHEN split_part(f.ref, '/', $5::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $6 AND c.id = split_part(f.ref, '/', $7::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $8::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $9 AND c.trace_id = split_part(f.ref, '/', $10::int)) IS NOT FALSE
  ELSE TRUE END;

SELECT count(*)::int AS walks FROM orphan_walks;

SELECT d.digest FROM unnest($1::text[]) AS d(digest)
  WHERE NOT EXISTS (SELECT FROM table_rows r WHERE r.project_id = $2 AND r.digest = d.digest) LIMIT 1;

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

SELECT e.id, json_build_object('id', e.id, 'type', e.type, 'data', e.data,
  'created_at', to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM training_job_events e
  WHERE e.project_id = $1 AND e.job_id = $2 AND e.seq > $3 AND NOT e.is_hidden
  ORDER BY e.seq LIMIT $4;

SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms;

SELECT f.feedback_type, f.ref, f.payload::text AS payload, f.event_times::text AS event_times
  FROM feedback f WHERE f.project_id = $1 AND f.id = $2;

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

SELECT f.place, (CASE WHEN starts_with(f.feedback_type, $1::text) THEN $2::text || substr(f.feedback_type, $3::int) ELSE f.feedback_type END) AS feedback_type, f.scorer_tags AS tags, f.scorer_ratings AS ratings, f.scorer_rating_reasons AS reasons,
  f.scorer_rating_confidences AS confidences
  FROM (SELECT f.*, sum((coalesce(octet_length(f."scorer_tags"::text), 0) + coalesce(octet_length(f."scorer_tag_reasons"::text), 0) + coalesce(octet_length(f."scorer_tag_confidences"::text), 0) + coalesce(octet_length(f."scorer_ratings"::text), 0) + coalesce(octet_length(f."scorer_rating_reasons"::text), 0) + coalesce(octet_length(f."scorer_rating_confidences"::text), 0))) OVER (ORDER BY f.created_at DESC, f.id DESC) AS bytes
  FROM (SELECT r.place, f.* FROM unnest($4::text[], $5::int[]) r (ref, place) CROSS JOIN LATERAL (SELECT f.* FROM feedback f WHERE f.project_id = $6 AND f.ref = r.ref AND CASE
  WHEN split_part(f.ref, '/', $7::int) || '/' || split_part(f.ref, '/', $8::int) <> $9 THEN TRUE
  WHEN split_part(f.ref, '/', $10::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $11 AND c.id = split_part(f.ref, '/', $12::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $13::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $14 AND c.trace_id = split_part(f.ref, '/', $15::int)) IS NOT FALSE
  ELSE TRUE END AND f.feedback_type = ANY($16::text[]) OFFSET 0) "f"
  ORDER BY f.created_at DESC, f.id DESC LIMIT $17::bigint) f) f
  WHERE f.bytes <= $18::bigint ORDER BY f.created_at, f.id;

SELECT f.upload_id, f.size_bytes, c.bytes FROM files f
  LEFT JOIN file_chunks c ON c.project_id = f.project_id AND c.upload_id = f.upload_id AND c.chunk_index = 0
  WHERE f.project_id = $1 AND f.digest = $2;

SELECT file, part, size_bytes FROM checkpoint_parts
  WHERE project_id = $1 AND job_id = $2 ORDER BY file, part;

SELECT i.annotation_state AS state, (SELECT p.state FROM annotation_progress p
  WHERE p.project_id = $1 AND p.item_id = i.id AND p.user_id = $2) AS mine
  FROM annotation_queue_items i WHERE i.project_id = $3 AND i.queue_id = $4 AND i.id = $5;

SELECT i.id FROM annotation_queue_items i
  WHERE i.project_id = $1 AND i.queue_id = $2 AND i.annotation_state = $3
  ORDER BY i.position, i.id LIMIT 1;

SELECT i.id FROM annotation_queue_items i
  WHERE i.project_id = $1 AND i.queue_id = $2 AND i.annotation_state = $3 AND i.annotator_user_id = $4
  ORDER BY i.position, i.id LIMIT 1;

SELECT i.id FROM build_inputs i LEFT JOIN calls c ON c.project_id = $1 AND c.id = i.id
  WHERE i.project_id = $2 AND i.build_id = $3 AND i.kind = 'call'
  AND (c.id IS NULL OR c.deleted_at IS NOT NULL OR CASE WHEN CASE WHEN c.output IS NULL AND pg_column_size(c.inputs) < 16 AND pg_column_size(c.attributes) < 16
  THEN c.inputs::text = '{}' AND c.attributes::text = '{}' ELSE false END THEN i.sha256 <> encode(sha256(convert_to(coalesce(octet_length(c.id) || ':' || c.id, '-') || coalesce(octet_length(c.op_name) || ':' || c.op_name, '-') || coalesce(octet_length(to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) || ':' || to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '-') || coalesce(octet_length(c.exception) || ':' || c.exception, '-') || coalesce(octet_length(c.attributes::text) || ':' || c.attributes::text, '-') || coalesce(octet_length(c.inputs::text) || ':' || c.inputs::text, '-') || coalesce(octet_length(c.output::text) || ':' || c.output::text, '-') || coalesce(octet_length((CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $4::text[])::text) || ':' || (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $4::text[])::text, '-'), 'UTF8')), 'hex') END)
  LIMIT 1;

SELECT i.kind, i.id, i.build_id FROM build_inputs i
  WHERE i.project_id = $1 AND i.build_id = ANY($2::uuid[])
  ORDER BY i.build_id, i.kind, i.id LIMIT $3;

SELECT id FROM calls WHERE project_id = $1 AND id IN (SELECT unnest($2::text[])) ORDER BY id FOR UPDATE;

SELECT id, (CASE WHEN tainted_at IS NULL THEN json_build_object('id', id, 'step', step, 'metrics', metrics)
  ELSE json_build_object('id', id, 'step', step, 'metrics', metrics, 'tainted_at', to_char(tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) END)::text AS json, found
  FROM (
  SELECT id, step, metrics, tainted_at, row_number() OVER seen AS place, (count(*) OVER ())::int AS found,
  sum(octet_length(metrics::text)) OVER seen AS bytes
  FROM (SELECT id, step, metrics, tainted_at FROM checkpoints WHERE project_id = $1 AND model_id = $2
  ORDER BY step ASC LIMIT $3) asked
  WINDOW seen AS (ORDER BY step ASC ROWS UNBOUNDED PRECEDING)) shown
  WHERE place = 1 OR bytes <= $4::bigint ORDER BY step ASC;

SELECT id, recipe_name, recipe_digest, recipe::text AS recipe, num_chunks, erased_at IS NOT NULL AS is_erased
  FROM builds WHERE project_id = $1 AND id = $2::uuid;

SELECT j.id AS job_id, j.state AS files
  FROM training_jobs j
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.parent_step
  WHERE j.project_id = $1 AND j.id = $2 AND j.lease_token_hash = $3 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now();

SELECT j.id AS job_id, j.step, j.parent_step, j.tainted_at IS NOT NULL AS is_tainted,
  (SELECT bj.build_id FROM build_jobs bj WHERE bj.project_id = $1 AND bj.job_id = j.id AND j.kind = 'rl'
  ORDER BY bj.created_at, bj.build_id LIMIT 1) AS build_id
  FROM training_jobs j
  WHERE j.project_id = $2 AND j.model_id = $3 AND j.step <= $4
  ORDER BY j.step DESC;

SELECT j.id FROM training_jobs j
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.retrains_job_id = $3
  AND (j.status IN ('queued', 'leased', 'running') OR (j.status = 'succeeded' AND j.tainted_at IS NULL))
  ORDER BY j.id LIMIT 1;

SELECT j.id FROM training_jobs j
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.status IN ('queued', 'leased', 'running')
  AND (SELECT b.body_sha256 FROM trajectory_batches b WHERE b.project_id = $3 AND b.id = j.batch_id) = $4
  ORDER BY j.id LIMIT 1;

SELECT j.id FROM training_jobs j
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.status IN ('queued', 'leased', 'running') AND j.training_data_url = $3
  AND coalesce(j.config::text, '') = coalesce($4::text, '')
  AND coalesce(j.experimental_config::text, '') = coalesce($5::text, '')
  AND (SELECT b.body_sha256 FROM trajectory_batches b WHERE b.project_id = $6 AND b.id = j.batch_id) = $7
  ORDER BY j.id LIMIT 1;

SELECT j.id FROM training_jobs j WHERE j.project_id = $1 AND j.training_data_url = $2 ORDER BY j.id;

SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, b.payload_bytes::float8 AS bytes FROM training_jobs j
  JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  WHERE j.project_id = $1 AND j.id = $2 AND j.lease_token_hash = $3 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now();

SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.id = $1 AND (j.project_id = ANY($2::text[]) OR split_part(j.project_id, '/', 1) || '/*' = ANY($3::text[]));

SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.id = $1 AND TRUE;

SELECT j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.project_id = $1 AND j.id = $2;

SELECT j.project_id, j.id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.status = 'queued' AND j.queued_at < now() - make_interval(secs => $1) ORDER BY j.project_id, j.id LIMIT 100;

SELECT j.project_id, j.id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.status IN ('leased', 'running') AND j.lease_expires_at <= now() ORDER BY j.project_id, j.id LIMIT 100;

SELECT j.project_id, j.id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM training_jobs j WHERE j.status IN ('leased', 'running') AND j.leased_at < now() - make_interval(secs => $1) ORDER BY j.project_id, j.id LIMIT 100;

SELECT json_build_array(ARRAY(
  SELECT DISTINCT s.call_id FROM dataset_row_sources s
  WHERE s.project_id = $1 AND s.call_id IN (SELECT unnest($2::text[])) AND s.erased_at IS NULL), ARRAY(
  SELECT i.id FROM annotation_queue_items i WHERE i.project_id = $3 AND i.call_id IN (SELECT unnest($4::text[]))), ARRAY(
  SELECT b.id FROM builds b
  WHERE b.project_id = $5 AND b.tainted_at IS NULL AND b.id IN (
  SELECT i.build_id FROM build_inputs i
  WHERE i.project_id = $6 AND i.kind = 'call' AND i.id IN (SELECT unnest($7::text[]))))) AS made;

SELECT json_build_object('alias', a.alias, 'step', a.step, 'moved_at', to_char(m.moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'moved_by', m.moved_by, 'by_hand', m.by_hand)::text AS json
  FROM model_aliases a
  JOIN model_alias_moves m ON m.project_id = $1 AND m.model_id = a.model_id AND m.alias = a.alias AND m.seq = a.seq
  WHERE a.project_id = $2 AND a.model_id = $3 ORDER BY a.alias;

SELECT json_build_object('alias', alias, 'step', step, 'previous_step', previous_step,
  'moved_at', to_char(moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'moved_by', moved_by, 'by_hand', by_hand, 'gate', gate, 'reason', reason)::text AS json
  FROM model_alias_moves WHERE project_id = $1 AND model_id = $2
  ORDER BY moved_at DESC, seq DESC, alias LIMIT $3;

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

SELECT json_build_object('id', b.id, 'recipe_name', b.recipe_name, 'erased_at', to_char(b.erased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'tainted_at', to_char(b.tainted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text AS json
  FROM builds b WHERE b.project_id = $1
  AND b.id = ANY($2::uuid[])
  ORDER BY b.id LIMIT $3;

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

SELECT json_build_object('scorer', coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), c.op_name), 'output', c.output)::text FROM calls c
  WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = $3 AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]) = 'true'
  ORDER BY c.started_at, c.id LIMIT $5::bigint; -- a list

SELECT json_build_object('step', p.step, 'uri', c.uri, 'sha256', c.sha256, 'config', c.config,
  'files', coalesce(c.files, '[]'))::text AS json
  FROM (SELECT $1::int AS step) p
  LEFT JOIN checkpoints c ON c.project_id = $2 AND c.model_id = $3 AND c.step = p.step;

SELECT k.id AS id, k.user_id AS "userId", k.secret_hash AS "secretHash",
  k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", CASE WHEN k.user_id IS NOT NULL THEN (
  SELECT json_build_object('id', u.id, 'issuer', u.issuer, 'subject', u.subject, 'email', u.email, 'emailVerified', u.email_verified,
  'name', u.name, 'groups', u.groups, 'isActive', u.is_active, 'memberships', (
  SELECT coalesce(json_agg(json_build_object('role', m.role, 'scope', m.scope) ORDER BY m.id), '[]')
  FROM memberships m
  WHERE (m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
  OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
  FROM users u WHERE u.id = k.user_id) END AS person,
  CASE WHEN k.id IS NOT NULL THEN json_build_object('userName', k.user_name, 'role', k.role, 'scopes', k.scopes) END AS key
  FROM api_keys k WHERE k.secret_hash = ANY ($1::bytea[]);

SELECT k.model_id, k.step, k.files, k.aliases FROM (
  SELECT c.model_id, c.step, c.files IS NOT NULL AS files,
  ARRAY(SELECT a.alias FROM model_aliases a
  WHERE a.project_id = $1 AND a.model_id = c.model_id AND a.step = c.step ORDER BY a.alias) AS aliases,
  row_number() OVER (PARTITION BY c.model_id ORDER BY c.step DESC) AS place
  FROM checkpoints c
  WHERE c.project_id = $2 AND c.model_id = ANY($3::uuid[]) AND c.tainted_at IS NULL) k
  WHERE k.place <= $4::bigint OR k.step = 0 OR k.aliases <> '{}' ORDER BY k.model_id, k.step DESC;

SELECT kind, id, sha256 FROM build_inputs WHERE project_id = $1 AND build_id = $2
  AND (kind, id) > ($3, $4)
  ORDER BY kind, id LIMIT 5000;

SELECT kind, id, sha256 FROM build_inputs WHERE project_id = $1 AND build_id = $2
  ORDER BY kind, id LIMIT 5000;

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

SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END
  WHERE (m.scope = ANY ($1::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END
  WHERE TRUE
  ORDER BY m.id LIMIT $1;

SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END
  WHERE TRUE AND (m.scope = ANY ($1::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.id, m.scope, m.role, u.id AS user_id, CASE WHEN m.kind = 'email' THEN m.subject WHEN u.email_verified THEN u.email END AS email,
  CASE WHEN m.kind = 'group' THEN m.subject END AS "group", nullif(coalesce(u.issuer, m.issuer), '') AS issuer,
  u.name, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen, u.is_active AS active FROM memberships m LEFT JOIN users u ON m.kind = 'user' AND u.id = CASE WHEN m.kind = 'user' THEN m.subject::uuid END WHERE m.id = $1;

SELECT m.llm_id, p.* FROM unnest($1::text[]) AS m (llm_id) CROSS JOIN LATERAL (
  SELECT DISTINCT ON (segment) width_bucket(p.effective_date, $2::timestamptz[]) AS segment, p.id,
  to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS effective_date, p.provider_id, p.prompt_token_cost, p.completion_token_cost,
  p.cache_read_input_token_cost, p.cache_creation_input_token_cost, p.prompt_token_cost_unit, p.completion_token_cost_unit
  FROM costs p WHERE p.project_id = $3 AND p.llm_id = m.llm_id AND p.effective_date < $4::timestamptz
  ORDER BY segment, p.effective_date DESC, p.id DESC) p
  ORDER BY m.llm_id, p.segment;

SELECT m.project_id AS "projectId", m.id, m.name, m.base_model AS "baseModel" FROM models m
  WHERE m.deleted_at IS NULL AND (m.project_id = ANY($1::text[]) OR split_part(m.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.project_id AS "projectId", m.id, m.name, m.base_model AS "baseModel" FROM models m
  WHERE m.deleted_at IS NULL AND TRUE
  ORDER BY m.id LIMIT $1;

SELECT m.project_id FROM call_slot_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM project_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM thread_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM trial_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id, m.id, m.name, m.base_model FROM models m
  WHERE m.deleted_at IS NULL AND (m.project_id = ANY($1::text[]) OR split_part(m.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ORDER BY m.id LIMIT $3;

SELECT m.project_id, m.id, m.name, m.base_model FROM models m
  WHERE m.deleted_at IS NULL AND TRUE
  ORDER BY m.id LIMIT $1;

SELECT max(step) AS step FROM checkpoints WHERE project_id = $1 AND model_id = $2;

SELECT octet_length(t.row_digests) / $1::int AS count, t.digest, NULL AS storage_size_bytes
  FROM tables t WHERE t.project_id = $2 AND t.digest = ANY($3);

SELECT part, upload_id, size_bytes FROM checkpoint_parts
  WHERE project_id = $1 AND job_id = $2 AND file = $3 ORDER BY part;

SELECT pg_advisory_xact_lock($1::bigint);

SELECT pg_advisory_xact_lock($1::int, hashtext($2));

SELECT pg_advisory_xact_lock(hashtextextended($1, $2::bigint));

SELECT pg_advisory_xact_lock_shared(hashtextextended($1, $2::bigint));

SELECT pg_notify($1, '');

SELECT pg_try_advisory_xact_lock($1::bigint) AS is_mine;

SELECT pg_try_advisory_xact_lock($1::int, hashtext($2)) AS is_mine;

SELECT project_id, (now() - make_interval(days => calls_days))::text AS calls_before,
  (now() - make_interval(days => payload_days))::text AS payloads_before, payload_cursor
  FROM retention_policies WHERE calls_days IS NOT NULL OR payload_days IS NOT NULL ORDER BY project_id;

SELECT project_id, id FROM erasings WHERE ended_at IS NULL AND touched_at < now() - interval '10 seconds'
  ORDER BY touched_at, id LIMIT 100;

SELECT project_id, id FROM uploads WHERE touched_at < now() - interval '1 hour' LIMIT 100;

SELECT project_id, id, kind, request, targets, cursor, counts, key_id, user_name, created_at::text AS created_at
  FROM erasings WHERE project_id = $1 AND id = $2 AND ended_at IS NULL FOR UPDATE;

SELECT project_id, process_id::text FROM gateway_processes WHERE seen_at < now() - interval '20 seconds'
  ORDER BY project_id, process_id LIMIT $1;

SELECT q.id AS queue_id, q.total_items, q.completed_items FROM annotation_queues q
  WHERE q.project_id = $1 AND q.deleted_at IS NULL AND q.id IN (SELECT unnest($2::text[]));

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

SELECT q.total_items FROM annotation_queues q WHERE q.project_id = $1 AND q.deleted_at IS NULL AND q.id = $2 FOR UPDATE;

SELECT r.id, coalesce((SELECT strpos(c.op_name, 'Evaluation.evaluate') > 0 AND c.ended_at IS NOT NULL
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = r.id), false) AS is_finished, k.chunks, k.is_large
  FROM unnest($2::text[]) r (id)
  LEFT JOIN LATERAL (SELECT k.chunks, k.ids IS NULL AS is_large FROM kept_trials k
  WHERE k.project_id = $3 AND k.run_id = r.id AND k.chunk = 0 OFFSET 0) "k" ON true;

SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM unnest($1::text[], $2::text[]) AS r (object_id, word) JOIN object_versions v ON v.project_id = $3 AND v.object_id = r.object_id AND v.deleted_at IS NULL AND v.digest = r.word UNION ALL SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM unnest($4::text[], $5::text[]) AS r (object_id, word) JOIN object_versions v ON v.project_id = $6 AND v.object_id = r.object_id AND v.deleted_at IS NULL AND v.version_index = substr(r.word, 2)::int UNION ALL SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM unnest($7::text[], $8::text[]) AS r (object_id, word) JOIN object_versions v ON v.project_id = $9 AND v.object_id = r.object_id AND v.deleted_at IS NULL AND v.is_latest;

SELECT row_number() OVER (ORDER BY c.started_at, c.id)::int AS place, c.id, c.parent_id, c.trace_id, c.thread_id, c.turn_id,
  c.thread_source, c.is_orphan, c.is_span
  FROM (SELECT c.* FROM unnest($1::text[]) t (trace_id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.thread_id, c.turn_id, c.thread_source, c.is_orphan, c.started_at,
  c.otel_dump IS NOT NULL AS is_span
  FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = t.trace_id OFFSET 0) "c" LIMIT $3::bigint) c
  ORDER BY place;

SELECT row_to_json(o)::text AS json FROM (
  SELECT i.id AS "id", i.project_id AS "project_id", i.queue_id AS "queue_id", i.call_id AS "call_id", to_char(i.call_started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_started_at", to_char(i.call_ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_ended_at", i.call_op_name AS "call_op_name", i.call_trace_id AS "call_trace_id", i.display_fields AS "display_fields", i.created_by AS "added_by", i.annotation_state AS "annotation_state", i.annotator_user_id AS "annotator_user_id", to_char(i.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", i.created_by AS "created_by", to_char(i.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(NULL::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", i.position AS "position_in_queue" FROM annotation_queue_items i
  WHERE i.project_id = $1 AND i.id = $2) o;

SELECT row_to_json(o)::text AS json FROM (
  SELECT q.id AS "id", q.project_id AS "project_id", q.name AS "name", q.description AS "description", q.scorer_refs AS "scorer_refs", to_char(q.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", q.created_by AS "created_by", to_char(q.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(q.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at" FROM annotation_queues q
  WHERE q.project_id = $1 AND q.id = $2) o;

SELECT row_to_json(o)::text AS json FROM (
  SELECT v.project_id AS "project_id", v.object_id AS "object_id", to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", v.digest AS "digest", v.version_index AS "version_index", v.is_latest::int AS "is_latest", v.kind AS "kind", v.base_object_class AS "base_object_class", v.leaf_object_class AS "leaf_object_class", '{}'::json AS "val", to_char(v.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", v.user_id AS "svc_user_id" FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.deleted_at IS NULL AND v.digest = $3
  AND v.size_bytes <= $4::bigint) o;

SELECT row_to_json(o)::text AS json FROM (
  SELECT v.project_id AS "project_id", v.object_id AS "object_id", to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", v.digest AS "digest", v.version_index AS "version_index", v.is_latest::int AS "is_latest", v.kind AS "kind", v.base_object_class AS "base_object_class", v.leaf_object_class AS "leaf_object_class", v.val AS "val", to_char(v.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", v.user_id AS "svc_user_id" FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.deleted_at IS NULL AND v.digest = $3
  AND v.size_bytes <= $4::bigint) o;

SELECT row_to_json(o)::text AS json FROM (
  SELECT v.project_id AS "project_id", v.object_id AS "object_id", to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", v.digest AS "digest", v.version_index AS "version_index", v.is_latest::int AS "is_latest", v.kind AS "kind", v.base_object_class AS "base_object_class", v.leaf_object_class AS "leaf_object_class", v.val AS "val", to_char(v.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", v.user_id AS "svc_user_id" FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.deleted_at IS NULL AND v.is_latest
  AND v.size_bytes <= $3::bigint) o;

SELECT row_to_json(o)::text FROM (
  SELECT i.id AS "id", i.project_id AS "project_id", i.queue_id AS "queue_id", i.call_id AS "call_id", to_char(i.call_started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_started_at", to_char(i.call_ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_ended_at", i.call_op_name AS "call_op_name", i.call_trace_id AS "call_trace_id", i.display_fields AS "display_fields", i.created_by AS "added_by", i.annotation_state AS "annotation_state", i.annotator_user_id AS "annotator_user_id", to_char(i.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", i.created_by AS "created_by", to_char(i.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(NULL::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at" FROM annotation_queue_items i WHERE i.project_id = $1 AND i.queue_id = $2 ORDER BY i.position ASC NULLS LAST, i.id COLLATE "C" ASC NULLS LAST LIMIT $3::bigint OFFSET $4::bigint) o; -- a list

SELECT row_to_json(o)::text FROM (
  SELECT q.id AS "id", q.project_id AS "project_id", q.name AS "name", q.description AS "description", q.scorer_refs AS "scorer_refs", to_char(q.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", q.created_by AS "created_by", to_char(q.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(q.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at" FROM annotation_queues q
  WHERE q.project_id = $1 AND q.deleted_at IS NULL
  ORDER BY q.created_at DESC, q.id COLLATE "C" ASC NULLS LAST LIMIT $2::bigint OFFSET $3::bigint) o; -- a list

SELECT row_to_json(o)::text FROM (
  SELECT s.object_id AS "object_id", s.row_digest AS "row_digest", s.call_id AS "call_id", s.trace_id AS "trace_id", s.thread_id AS "thread_id", to_char(s.added_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "added_at", s.added_by AS "added_by", to_char(s.removed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "removed_at", (s.erased_at IS NOT NULL) AS "erased", to_char(s.erased_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "erased_at" FROM dataset_row_sources s WHERE s.project_id = $1
  ORDER BY s.object_id COLLATE "C" ASC NULLS LAST, s.row_digest COLLATE "C" ASC NULLS LAST, s.call_id COLLATE "C" ASC NULLS LAST LIMIT $2::bigint OFFSET $3::bigint) o; -- a list

SELECT row_to_json(o)::text FROM (
  SELECT v.project_id AS "project_id", v.object_id AS "object_id", to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", v.digest AS "digest", v.version_index AS "version_index", v.is_latest::int AS "is_latest", v.kind AS "kind", v.base_object_class AS "base_object_class", v.leaf_object_class AS "leaf_object_class", v.val AS "val", to_char(v.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", v.user_id AS "svc_user_id" FROM object_versions v
  WHERE v.project_id = $1 AND v.deleted_at IS NULL
  ORDER BY v.created_at ASC NULLS LAST, v.version_index ASC NULLS LAST, v.object_id COLLATE "C" ASC NULLS LAST LIMIT $2::bigint OFFSET $3::bigint) o; -- a list

SELECT row_to_json(o)::text FROM (
  SELECT v.project_id AS "project_id", v.object_id AS "object_id", to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", v.digest AS "digest", v.version_index AS "version_index", v.is_latest::int AS "is_latest", v.kind AS "kind", v.base_object_class AS "base_object_class", v.leaf_object_class AS "leaf_object_class", v.val AS "val", to_char(v.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", v.user_id AS "svc_user_id" FROM object_versions v
  WHERE v.project_id = $1 AND v.deleted_at IS NULL AND v.kind <> 'op' AND v.base_object_class = ANY($2::text[])
  ORDER BY v.created_at ASC NULLS LAST, v.version_index ASC NULLS LAST, v.object_id COLLATE "C" ASC NULLS LAST LIMIT $3::bigint OFFSET $4::bigint) o; -- a list

SELECT row_to_json(o)::text FROM (
  SELECT v.project_id AS "project_id", v.object_id AS "object_id", to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", v.digest AS "digest", v.version_index AS "version_index", v.is_latest::int AS "is_latest", v.kind AS "kind", v.base_object_class AS "base_object_class", v.leaf_object_class AS "leaf_object_class", v.val AS "val", to_char(v.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", v.user_id AS "svc_user_id" FROM object_versions v
  WHERE v.project_id = $1 AND v.deleted_at IS NULL AND v.kind = 'op'
  ORDER BY v.created_at ASC NULLS LAST, v.version_index ASC NULLS LAST, v.object_id COLLATE "C" ASC NULLS LAST LIMIT $2::bigint OFFSET $3::bigint) o; -- a list

SELECT row_to_json(s)::text AS json FROM (SELECT
  (SELECT coalesce(sum(t.bytes), 0)::bigint FROM call_slots t WHERE t.project_id = $1) AS trace_storage_size_bytes,
  (SELECT coalesce(sum(t.size_bytes), 0)::bigint FROM object_versions t WHERE t.project_id = $2) AS objects_storage_size_bytes,
  (SELECT coalesce(sum(pg_column_size(t.row_digests)), 0)::bigint FROM tables t WHERE t.project_id = $3) + (SELECT coalesce(sum(pg_column_size(t.val)), 0)::bigint FROM table_rows t WHERE t.project_id = $4) AS tables_storage_size_bytes,
  (SELECT coalesce(sum(t.size_bytes), 0)::bigint FROM files t WHERE t.project_id = $5) AS files_storage_size_bytes) s;

SELECT row_to_json(t)::text AS json FROM (
  SELECT a.id AS "id", to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", a.action AS "action", nullif(a.project_id, '') AS "project_id", a.key_id AS "key_id", a.user_id AS "user_id", a.user_name AS "user", a.target AS "target", a.detail AS "detail" FROM audit_events a
  WHERE (CASE WHEN a.project_id <> '' THEN (a.project_id = ANY($1::text[]) OR split_part(a.project_id, '/', 1) || '/*' = ANY($2::text[]))
  ELSE a.scopes IS NOT NULL AND NOT EXISTS (SELECT FROM unnest(a.scopes) s (scope) WHERE NOT (s.scope = ANY($3::text[]) OR split_part(s.scope, '/', 1) || '/*' = ANY($4::text[]))) END)
  ORDER BY a.created_at DESC, a.id DESC
  LIMIT $5::bigint OFFSET $6::bigint) t; -- a list

SELECT row_to_json(t)::text AS json FROM (
  SELECT a.id AS "id", to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", a.action AS "action", nullif(a.project_id, '') AS "project_id", a.key_id AS "key_id", a.user_id AS "user_id", a.user_name AS "user", a.target AS "target", a.detail AS "detail" FROM audit_events a
  WHERE TRUE
  ORDER BY a.created_at DESC, a.id DESC
  LIMIT $1::bigint OFFSET $2::bigint) t; -- a list

SELECT row_to_json(t)::text AS json FROM (
  SELECT id, user_name AS "user", role, scopes, hint, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
  to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at, to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at, user_id, created_by
  FROM api_keys k WHERE TRUE
  ORDER BY id LIMIT $1) t; -- a list

SELECT row_to_json(t)::text AS json FROM (
  SELECT id, user_name AS "user", role, scopes, hint, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
  to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at, to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at, user_id, created_by
  FROM api_keys k WHERE id = $1) t;

SELECT row_to_json(t)::text AS json FROM (
  SELECT id, user_name AS "user", role, scopes, hint, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
  to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at, to_char(revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS revoked_at, user_id, created_by
  FROM api_keys k WHERE split_part(scopes[1], '/', 1) = ANY ($1::text[]) AND NOT EXISTS (
  SELECT FROM unnest(k.scopes) s
  WHERE NOT (s = ANY ($2::text[]) OR split_part(s, '/', 1) || '/*' = ANY ($3::text[])))
  ORDER BY id LIMIT $4) t; -- a list

SELECT row_to_json(t)::text AS json FROM (
  SELECT p.id AS "id", p.llm_id AS "llm_id", p.prompt_token_cost AS "prompt_token_cost", p.completion_token_cost AS "completion_token_cost", p.prompt_token_cost_unit AS "prompt_token_cost_unit", p.completion_token_cost_unit AS "completion_token_cost_unit", to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "effective_date", p.provider_id AS "provider_id", p.cache_read_input_token_cost AS "cache_read_input_token_cost", p.cache_creation_input_token_cost AS "cache_creation_input_token_cost" FROM costs p WHERE p.project_id = $1
  ORDER BY p.llm_id COLLATE "C" ASC NULLS LAST, p.effective_date DESC, p.id COLLATE "C" ASC NULLS LAST
  LIMIT $2::bigint OFFSET $3::bigint) t; -- a list

SELECT row_to_json(t)::text AS row FROM (
  SELECT u.slot, u.llm_id, width_bucket(u.input_tokens, $1::bigint[]) AS tier, u.unknown_kinds, count(*) AS call_count, sum(u.prompt_tokens) AS prompt_tokens,
  sum(u.completion_tokens) AS completion_tokens, sum(u.cache_read_input_tokens) AS cache_read_input_tokens,
  sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens,
  min(u.input_tokens) AS min_input, max(u.input_tokens) AS max_input, CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END AS details
  FROM (
  WITH RECURSIVE own AS MATERIALIZED (
  SELECT c.id, c.trace_id, c.response_id, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $2 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum, c.slot, u.llm_id, u.unknown_kinds,
  u.input_tokens AS said_input, u.completion_tokens AS said_output, u.cache_read_input_tokens AS said_read,
  u.cache_creation_input_tokens AS said_created, u.details AS said_details
  FROM (SELECT s.slot, c.* FROM unnest($3::timestamptz[]) AS s (slot)
  CROSS JOIN LATERAL (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= s.slot AND c.started_at < s.slot + interval '5 minutes' AND c.source = 'production' OFFSET 0) "c") c CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $5 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $6 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $7::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $8 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $9 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $10::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $11::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $12::float8), d.started_at + make_interval(mins => $13::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $14 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $15 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $16::float8), c.started_at + make_interval(mins => $17::int))
  ORDER BY d.started_at, d.id LIMIT $18::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $19 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $20::float8), c.started_at + make_interval(mins => $21::int))
  ORDER BY d.started_at, d.id LIMIT $22::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $23 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))
  ), walk AS (
  SELECT DISTINCT o.id AS owner, CASE WHEN NOT o.is_sum THEN o.response_id END AS response_id, o.tells_one, o.id, o.trace_id, CASE WHEN o.tells_one THEN o.response_id END AS inside,
  true AS goes_on, false AS is_below, false AS is_same FROM own o
  UNION ALL
  SELECT w.owner, w.response_id, w.tells_one, c.id, c.trace_id,
  CASE WHEN c.says AND c.tells_one AND NOT w.tells_one THEN c.response_id ELSE w.inside END,
  NOT c.says OR (c.tells_one AND NOT w.tells_one),
  c.says AND CASE WHEN w.inside IS NULL THEN true WHEN w.tells_one THEN c.told IS NULL AND NOT c.is_sum
  ELSE c.is_sum OR (c.told IS NOT NULL AND c.told <> w.inside) END,
  c.says AND c.response_id = w.response_id
  FROM walk w CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.response_id, CASE WHEN NOT c.response_id LIKE $24 THEN c.response_id END AS told,
  (c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $25 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $26 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $27::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $28 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $29 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $30::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $31::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $32::float8), d.started_at + make_interval(mins => $33::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $34 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $35 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $36::float8), c.started_at + make_interval(mins => $37::int))
  ORDER BY d.started_at, d.id LIMIT $38::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $39 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $40::float8), c.started_at + make_interval(mins => $41::int))
  ORDER BY d.started_at, d.id LIMIT $42::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $43 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AS says, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $44 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum FROM calls c
  WHERE c.project_id = $45 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = w.id AND c.id <> w.owner AND (c.trace_id = w.trace_id) IS TRUE OFFSET 0) "c"
  WHERE w.goes_on
  ), below AS MATERIALIZED (
  SELECT w.owner, u.llm_id, sum(u.input_tokens)::bigint AS input, sum(u.completion_tokens)::bigint AS output,
  sum(u.cache_read_input_tokens)::bigint AS read, sum(u.cache_creation_input_tokens)::bigint AS created,
  (CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END)::bigint[] AS details
  FROM walk w CROSS JOIN LATERAL (SELECT c.usage, c.counts_gross FROM calls c WHERE c.project_id = $46 AND c.id = w.id OFFSET 0) "c"
  CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE w.is_below GROUP BY 1, 2
  ), totals AS (
  SELECT b.owner, min(b.llm_id) AS llm_id, count(*) = 1 AS is_one, sum(b.input) AS input, sum(b.output) AS output, sum(greatest(b.input - coalesce(o.said_input, 0), 0)) AS more_input,
  sum(greatest(b.output - coalesce(o.said_output, 0), 0)) AS more_output
  FROM below b LEFT JOIN own o ON o.id = b.owner AND o.llm_id = b.llm_id GROUP BY 1
  ), beyond AS (
  SELECT o.id, o.llm_id, b.owner IS NOT NULL OR o.is_sum AS is_told, greatest(o.said_input - coalesce(b.input, 0), 0) AS input,
  greatest(o.said_output - coalesce(b.output, 0), 0) AS output, greatest(o.said_read - coalesce(b.read, 0), 0) AS read,
  greatest(o.said_created - coalesce(b.created, 0), 0) AS created, b.details AS details_below,
  CASE WHEN o.is_sum THEN t.more_input ELSE 0 END AS more_input, CASE WHEN o.is_sum THEN t.more_output ELSE 0 END AS more_output,
  t.is_one AND count(*) OVER (PARTITION BY o.id) = 1 AND o.said_input = t.input AND o.said_output = t.output
  AND (starts_with(regexp_replace(lower(o.llm_id), $47, '', 'g'), regexp_replace(lower(t.llm_id), $48, '', 'g')) OR starts_with(regexp_replace(lower(t.llm_id), $49, '', 'g'), regexp_replace(lower(o.llm_id), $50, '', 'g'))
  OR $51 IN (o.llm_id, t.llm_id)) AS is_all
  FROM own o JOIN totals t ON t.owner = o.id LEFT JOIN below b ON b.owner = o.id AND b.llm_id = o.llm_id
  ), remaining AS (
  SELECT y.*, greatest(y.input - greatest(y.more_input - (sum(y.input) OVER before - y.input), 0), 0)::bigint AS input_tokens,
  greatest(y.output - greatest(y.more_output - (sum(y.output) OVER before - y.output), 0), 0)::bigint AS completion_tokens
  FROM beyond y WHERE NOT y.is_all AND NOT EXISTS (SELECT FROM walk w WHERE w.owner = y.id AND w.is_same)
  WINDOW before AS (PARTITION BY y.id ORDER BY y.llm_id ROWS UNBOUNDED PRECEDING)
  ), tokens AS (
  SELECT o.*, o.said_input AS input_tokens, o.said_output AS completion_tokens, o.said_read AS read, o.said_created AS created,
  NULL::bigint[] AS details_below
  FROM own o WHERE NOT EXISTS (SELECT FROM walk w WHERE w.owner = o.id AND (w.is_below OR w.is_same))
  UNION ALL
  SELECT o.*, r.input_tokens, r.completion_tokens, r.read, r.created, r.details_below
  FROM own o JOIN remaining r ON r.id = o.id AND r.llm_id = o.llm_id
  WHERE NOT r.is_told OR r.input_tokens > 0 OR r.completion_tokens > 0
  ), cached AS (
  SELECT t.*, least(t.read, t.input_tokens) AS cache_read_input_tokens,
  least(t.created, t.input_tokens - least(t.read, t.input_tokens)) AS cache_creation_input_tokens FROM tokens t
  )
  SELECT c.*, c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens AS prompt_tokens, CASE WHEN c.said_details IS NOT NULL THEN skein_details_left(c.said_details, c.details_below,
  ARRAY[c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens, c.completion_tokens, c.cache_read_input_tokens, c.cache_creation_input_tokens], $52::int[]) END AS details FROM cached c) u GROUP BY 1, 2, 3, 4) t;

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS evaluation_run_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS evaluation, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $4::text[])) AS model, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END AS status,
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at,
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) AS source_evaluation_run_id FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.op_name = 'Evaluation.evaluate' OR c.op_name >= $8 AND c.op_name < $9) AND c.id IN (SELECT unnest($10::text[])) ORDER BY c.started_at, c.id
  LIMIT (SELECT $11::bigint + $12::bigint) OFFSET $13::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS evaluation_run_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS evaluation, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $4::text[])) AS model, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END AS status,
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at,
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) AS source_evaluation_run_id FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.op_name = 'Evaluation.evaluate' OR c.op_name >= $8 AND c.op_name < $9) AND c.id IN (SELECT unnest($10::text[])) ORDER BY c.started_at, c.id
  OFFSET $11::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS evaluation_run_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS evaluation, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $4::text[])) AS model, CASE WHEN c.exception IS NOT NULL THEN 'error' WHEN c.ended_at IS NULL THEN 'running'
  WHEN c.has_descendant_error THEN 'descendant_error' ELSE 'success' END AS status,
  to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS finished_at,
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $5::text[]) = 'true' THEN coalesce(c.summary, c.output) ELSE c.output END AS summary,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) AS source_evaluation_run_id FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (c.op_name = 'Evaluation.evaluate' OR c.op_name >= $8 AND c.op_name < $9) ORDER BY c.started_at, c.id
  OFFSET $10::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS prediction_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS model,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $3::text[]) AS inputs, c.output, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM (
  SELECT DISTINCT $6 || v.object_id || ':' || v.digest AS op_name
  FROM object_versions v WHERE v.project_id = $7 AND v.kind = 'op' AND right(v.object_id, $8::int) = $9
  AND (v.deleted_at IS NOT NULL OR v.val #>> '{files,obj.py}' = $10)) v
  CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $11 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $12::text[]) = 'true' AND c.op_name = v.op_name OFFSET 0) "c" ORDER BY c.started_at, c.id
  OFFSET $13::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS prediction_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS model,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $3::text[]) AS inputs, c.output, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $7::text[]) = 'true' AND c.id IN (SELECT unnest($8::text[])) ORDER BY c.started_at, c.id
  LIMIT (SELECT $9::bigint + $10::bigint) OFFSET $11::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS prediction_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS model,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #> $3::text[]) AS inputs, c.output, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $4::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $5 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $7::text[]) = 'true' AND c.id IN (SELECT unnest($8::text[])) ORDER BY c.started_at, c.id
  OFFSET $9::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS score_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS scorer, c.output AS value,
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM (
  SELECT DISTINCT $5 || v.object_id || ':' || v.digest AS op_name
  FROM object_versions v WHERE v.project_id = $6 AND v.kind = 'op' AND right(v.object_id, $7::int) = $8
  AND (v.deleted_at IS NOT NULL OR v.val #>> '{files,obj.py}' = $9)) v
  CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $10 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $11::text[]) = 'true' AND c.op_name = v.op_name OFFSET 0) "c" ORDER BY c.started_at, c.id
  OFFSET $12::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS score_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS scorer, c.output AS value,
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) = 'true' AND c.id IN (SELECT unnest($7::text[])) ORDER BY c.started_at, c.id
  LIMIT (SELECT $8::bigint + $9::bigint) OFFSET $10::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id AS score_id, coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $1::text[]), (CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $2::text[])) AS scorer, c.output AS value,
  coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $3::text[]), (
  SELECT p.parent_id FROM calls p WHERE p.project_id = $4 AND p.id = c.parent_id)) AS evaluation_run_id, c.user_id AS "svc_user_id" FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND (CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END #>> $6::text[]) = 'true' AND c.id IN (SELECT unnest($7::text[])) ORDER BY c.started_at, c.id
  OFFSET $8::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id, c.parent_id, c.trace_id, c.linked_call_id, c.is_linked, c.response_id, c.counts_gross, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, c.ended_at IS NULL AS is_running,
  octet_length(c.usage::text) > $1 AS is_large,
  CASE WHEN octet_length(c.usage::text) <= $2 THEN c.usage END AS usage,
  (
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
  WHERE p.project_id = $3 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records
  FROM (
  WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($5::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $6 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  ), found AS MATERIALIZED (
  SELECT c.* FROM calls c
  WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY(ARRAY(SELECT id FROM family LIMIT $8::bigint)))
  SELECT f.*, false AS is_linked FROM found f
  UNION ALL
  SELECT c.*, true FROM (
  SELECT s.* FROM (SELECT f.id FROM found f) l CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.linked_call_id = l.id OFFSET 0) "s" LIMIT $10::bigint) c
  WHERE NOT EXISTS (SELECT FROM found f WHERE f.id = c.id)) c
  ) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id, c.parent_id, c.trace_id, c.linked_call_id, c.is_linked, c.response_id, c.counts_gross, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, c.ended_at IS NULL AS is_running,
  octet_length(c.usage::text) > $1 AS is_large,
  CASE WHEN octet_length(c.usage::text) <= $2 THEN c.usage END AS usage,
  (
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
  WHERE p.project_id = $3 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records
  FROM (
  WITH found AS MATERIALIZED (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = ANY($5::text[]) LIMIT $6::bigint)
  SELECT f.*, false AS is_linked FROM found f
  UNION ALL
  SELECT c.*, true FROM (
  SELECT s.* FROM (SELECT f.id FROM found f) l CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.linked_call_id = l.id OFFSET 0) "s" LIMIT $8::bigint) c
  WHERE NOT EXISTS (SELECT FROM found f WHERE f.id = c.id)) c
  ) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id, c.trace_id, c.parent_id, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms, c.exception, c.operation, c.agent_name, c.agent_version,
  c.linked_call_id, c.thread_id, c.user_id, c.run_id, c.run_step, c.run_step_end, c.attributes,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $1::text[]) AS kind, (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $2::text[]) AS status, (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage, c.counts_gross,
  (
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
  WHERE p.project_id = $3 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records, c.inputs, c.output, NULL AS raw FROM (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.trace_id = $5
  ORDER BY c.started_at, c.id LIMIT $6::bigint) c ORDER BY c.started_at, c.id) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT c.id, c.trace_id, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at, c.thread_id, c.operation,
  c.agent_name, c.attributes, c.inputs, c.output
  FROM (
  SELECT c.* FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($2::text[]) ORDER BY c.started_at DESC, c.id DESC LIMIT (SELECT $3::bigint + $4::bigint)) c
  WHERE TRUE AND octet_length(c.inputs::text) + coalesce(octet_length(c.output::text), 0) <= $5::int
  AND TRUE
  ORDER BY c.started_at DESC, c.id DESC) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT s.payload FROM (
  SELECT DISTINCT ON (f.feedback_type, f.trigger_ref) f.payload, f.created_at, f.id FROM feedback f WHERE f.project_id = $1 AND f.created_at >= $2::timestamptz AND octet_length(f.payload::text) <= $3::int AND CASE
  WHEN split_part(f.ref, '/', $4::int) || '/' || split_part(f.ref, '/', $5::int) <> $6 THEN TRUE
  WHEN split_part(f.ref, '/', $7::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $8 AND c.id = split_part(f.ref, '/', $9::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $10::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $11 AND c.trace_id = split_part(f.ref, '/', $12::int)) IS NOT FALSE
  ELSE TRUE END ORDER BY f.feedback_type, f.trigger_ref, f.created_at DESC, f.id DESC) s
  ORDER BY s.created_at DESC, s.id LIMIT $13::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  SELECT t.place, s.id AS span_id, s.trace_id, s.operation_name, s.status, s.duration_ms FROM json_array_elements_text($1::json) WITH ORDINALITY t (id, place) CROSS JOIN LATERAL (
  SELECT c.id, c.trace_id, c.operation AS operation_name, (CASE WHEN c.exception IS NOT NULL THEN 'ERROR'
  WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $2::text[]) IN ('1', 'STATUS_CODE_OK') THEN 'OK' ELSE 'UNSET' END) AS status,
  round(coalesce((CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END), 0)) AS duration_ms, c.started_at
  FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND (c.thread_id || '') = t.id AND c.thread_id <> '' ORDER BY c.started_at, c.id LIMIT $4::bigint) s
  ORDER BY t.place, s.started_at, s.id LIMIT $5::bigint) t; -- a list

SELECT row_to_json(t)::text FROM (
  WITH s AS MATERIALIZED (SELECT c.started_at, left((nullif(c.thread_id, ''))::text, $1::int) AS "v0" FROM calls c WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($3::text[]) AND c.started_at >= $4::timestamptz AND c.started_at < $5::timestamptz),
  largest AS MATERIALIZED (
  SELECT "v0" FROM s GROUP BY "v0"
  ORDER BY count(*) DESC, "v0" COLLATE "C" LIMIT $6::bigint)
  SELECT width_bucket(s.started_at, $7::timestamptz[]) - 1 AS bucket,
  to_json(ARRAY[to_json(s."v0")]::json[]) AS keys, to_json(ARRAY[]::json[]) AS values
  FROM s WHERE (SELECT jsonb_object_agg(json_build_array("l"."v0")::text, 1) FROM largest l) ? json_build_array("s"."v0")::text
  GROUP BY 1, s."v0"
  ORDER BY 1, s."v0" COLLATE "C") t; -- a list

SELECT row_to_json(t)::text FROM (
  WITH w AS MATERIALIZED (
  SELECT NULL::float8 AS bucket, f.scorer_tags, f.scorer_ratings, coalesce((CASE WHEN starts_with(f.runnable_ref, $1::text) THEN $2::text || substr(f.runnable_ref, $3::int) ELSE f.runnable_ref END), '') AS "k0" FROM feedback f WHERE f.project_id = $4 AND f.created_at >= to_timestamp($5::float8 / 1000) AND f.created_at < to_timestamp($6::float8 / 1000) AND CASE
  WHEN split_part(f.ref, '/', $7::int) || '/' || split_part(f.ref, '/', $8::int) <> $9 THEN TRUE
  WHEN split_part(f.ref, '/', $10::int) IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
  WHERE c.project_id = $11 AND c.id = split_part(f.ref, '/', $12::int) LIMIT 1) IS NOT FALSE
  WHEN split_part(f.ref, '/', $13::int) = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
  WHERE c.project_id = $14 AND c.trace_id = split_part(f.ref, '/', $15::int)) IS NOT FALSE
  ELSE TRUE END
  )
  SELECT a.* FROM (
  SELECT w.bucket, json_build_array(w."k0") AS keys, 'total' AS kind, NULL AS name, count(*)::int AS count,
  count(*) FILTER (WHERE json_array_length(w.scorer_tags) > 0 OR w.scorer_ratings::text <> '{}')::int AS scored, 0::float8 AS sum
  FROM w GROUP BY w.bucket, w."k0"
  UNION ALL
  SELECT w.bucket, json_build_array(w."k0"), 'tag', t.tag, count(*)::int, 0, 0 FROM w CROSS JOIN LATERAL json_array_elements_text(w.scorer_tags) t (tag)
  GROUP BY w.bucket, w."k0", t.tag
  UNION ALL
  SELECT w.bucket, json_build_array(w."k0"), 'rating', r.key, count(*)::int, 0, sum(r.value::float8) FROM w CROSS JOIN LATERAL json_each_text(w.scorer_ratings) r
  GROUP BY w.bucket, w."k0", r.key) a
  ORDER BY a.bucket, a.keys::text COLLATE "C", a.kind, a.name COLLATE "C") t; -- a list

SELECT row_to_json(t)::text FROM (SELECT c.id, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  c.usage, c.counts_gross, (
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
  WHERE p.project_id = $1 AND p.llm_id = model.llm_id AND p.effective_date <= c.started_at
  ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
  FROM json_to_recordset(c.usage) AS model (llm_id text)) AS records
  FROM calls c
  WHERE c.project_id = $2 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($3::text[]))) t; -- a list

SELECT row_to_json(t)::text FROM (SELECT c.id, c.trace_id, c.parent_id, c.op_name, to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS started_at,
  to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms, c.exception, c.operation, c.agent_name, c.agent_version,
  c.linked_call_id, c.thread_id, c.user_id, c.run_id, c.run_step, c.run_step_end, c.attributes,
  (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $1::text[]) AS kind, (CASE WHEN c.is_opaque THEN skein_safe_json(c.otel_dump) ELSE c.otel_dump END #>> $2::text[]) AS status, (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage, c.counts_gross,
  NULL AS records, NULL AS inputs, NULL AS output, NULL AS raw FROM (SELECT c.* FROM calls c WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($4::text[]) ORDER BY c.started_at DESC, c.id COLLATE "C" ASC NULLS LAST LIMIT $5::bigint OFFSET $6::bigint) c) t; -- a list

SELECT row_to_json(w)::text AS json FROM (
  SELECT t.project_id AS "project_id", t.call_count AS "call_count", t.bytes AS "bytes", to_char(t.last_activity AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_activity" FROM (
  SELECT s.project_id, sum(s.call_count)::bigint AS call_count, sum(s.bytes)::bigint AS bytes,
  max(s.last_activity) AS last_activity
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE (p.project_id = ANY($1::text[]))
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE (m.project_id = ANY($2::text[]))
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, 0, m.made_at FROM call_slot_marks m WHERE (m.project_id = ANY($3::text[]))) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
  ORDER BY t.last_activity DESC, t.project_id COLLATE "C" ASC NULLS LAST
  LIMIT $4::bigint OFFSET $5::bigint) w;

SELECT row_to_json(w)::text AS json FROM (
  SELECT t.project_id AS "project_id", t.call_count AS "call_count", t.bytes AS "bytes", to_char(t.last_activity AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_activity" FROM (
  SELECT s.project_id, sum(s.call_count)::bigint AS call_count, sum(s.bytes)::bigint AS bytes,
  max(s.last_activity) AS last_activity
  FROM (
  SELECT p.project_id, p.row_count, p.call_count, p.bytes, p.last_activity FROM projects p WHERE TRUE
  UNION ALL
  SELECT m.project_id, m.row_count, m.call_count, m.bytes, m.made_at FROM project_marks m WHERE TRUE
  UNION ALL
  SELECT m.project_id, m.call_count, m.call_count, 0, m.made_at FROM call_slot_marks m WHERE TRUE) s GROUP BY s.project_id HAVING sum(s.row_count) > 0) t
  ORDER BY t.last_activity DESC, t.project_id COLLATE "C" ASC NULLS LAST
  LIMIT $1::bigint OFFSET $2::bigint) w;

SELECT row_to_json(w)::text AS json FROM (
  SELECT t.thread_id AS "thread_id", t.turn_count AS "turn_count", to_char(t.start_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "start_time", to_char(t.last_updated AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_updated", t.first_turn_id AS "first_turn_id", t.last_turn_id AS "last_turn_id", t.p50_turn_duration_ms AS "p50_turn_duration_ms", t.p99_turn_duration_ms AS "p99_turn_duration_ms" FROM (
  SELECT t.* FROM (
  (SELECT t.thread_id, t.turn_count, t.start_time, t.last_updated, t.first_turn_id, t.last_turn_id,
  t.p50_turn_duration_ms, t.p99_turn_duration_ms FROM threads t
  WHERE t.project_id = $1 AND TRUE
  AND
  CASE WHEN (SELECT count(*) FROM (SELECT FROM thread_marks m WHERE m.project_id = $2 LIMIT $3::bigint) s) <= $4::bigint
  THEN t.thread_id NOT IN (SELECT m.thread_id FROM thread_marks m WHERE m.project_id = $5 LIMIT $6::bigint)
  ELSE (SELECT TRUE FROM thread_marks m WHERE m.project_id = $7 AND m.thread_id = t.thread_id LIMIT 1) IS NOT TRUE
  END
  ORDER BY t.last_updated DESC, t.thread_id COLLATE "C" ASC NULLS LAST )
  UNION ALL
  (
  SELECT m.*, s.* FROM (SELECT t.* FROM (
  SELECT m.*, s.* FROM (SELECT DISTINCT m.thread_id FROM thread_marks m WHERE m.project_id = $8) m CROSS JOIN LATERAL (
  SELECT count(*)::int AS turn_count, min(c.started_at) AS start_time, max(coalesce(c.ended_at, c.started_at)) AS last_updated FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = c.turn_id AND c.thread_id <> '' AND c.thread_id = m.thread_id AND (TRUE) IS TRUE) s) t WHERE t.turn_count > 0 AND TRUE ORDER BY t.last_updated DESC, t.thread_id COLLATE "C" ASC NULLS LAST ) m CROSS JOIN LATERAL (
  SELECT
  (array_agg(c.id ORDER BY c.started_at, c.id))[1] AS first_turn_id,
  (array_agg(c.id ORDER BY coalesce(c.ended_at, c.started_at) DESC, c.id))[1] AS last_turn_id,
  percentile_cont(0.50) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)) AS p50_turn_duration_ms,
  percentile_cont(0.99) WITHIN GROUP (ORDER BY (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END)) AS p99_turn_duration_ms FROM calls c WHERE c.project_id = $10 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = c.turn_id AND c.thread_id <> '' AND c.thread_id = m.thread_id AND (TRUE) IS TRUE) s)) t ORDER BY t.last_updated DESC, t.thread_id COLLATE "C" ASC NULLS LAST LIMIT $11::bigint OFFSET $12::bigint
  ) t) w; -- a list

SELECT seq, bytes FROM checkpoint_chunks
  WHERE project_id = $1 AND upload_id = $2 AND seq >= $3 ORDER BY seq LIMIT 2;

SELECT seq, split, text FROM build_chunks
  WHERE project_id = $1 AND build_id = $2::uuid AND seq > $3 ORDER BY seq LIMIT 4;

SELECT seq, text FROM body_chunks
  WHERE project_id = $1 AND batch_id = $2 AND seq > $3 ORDER BY seq LIMIT 1;

SELECT seq, text FROM body_chunks
  WHERE project_id = $1 AND batch_id = $2 AND seq > $3 ORDER BY seq LIMIT 4;

SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, notice)
  FROM unnest($2::text[]) AS n(notice);

SELECT step FROM model_aliases WHERE project_id = $1 AND model_id = $2 AND alias = $3 FOR UPDATE;

SELECT t.id AS turn_id, s.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (
  WITH RECURSIVE below AS (
  SELECT c.trace_id, 0 AS depth, c.id, (extract(epoch FROM c.started_at) * 1000000)::bigint::text AS started_at,
  (extract(epoch FROM c.ended_at) * 1000000)::bigint::text AS ended_at, c.operation,
  coalesce(pg_column_size(c.inputs) > $2::int, false) AS has_inputs,
  coalesce(pg_column_size(c.output) > $3::int, false) AS has_output FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id
  UNION ALL
  SELECT c.* FROM below b CROSS JOIN LATERAL (SELECT c.trace_id, b.depth + 1, c.id, (extract(epoch FROM c.started_at) * 1000000)::bigint::text AS started_at,
  (extract(epoch FROM c.ended_at) * 1000000)::bigint::text AS ended_at, c.operation,
  coalesce(pg_column_size(c.inputs) > $5::int, false) AS has_inputs,
  coalesce(pg_column_size(c.output) > $6::int, false) AS has_output FROM calls c
  WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = b.id AND (c.trace_id = b.trace_id) IS TRUE OFFSET 0) "c"
  WHERE b.depth < $8::int)
  SELECT b.depth, b.id, b.started_at, b.ended_at, b.operation, b.has_inputs, b.has_output FROM below b LIMIT $9::bigint OFFSET 0) "s";

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

SELECT t.key, t.value_type, count(*)::int AS span_count FROM (
  SELECT e.key, CASE WHEN json_typeof(e.value) = 'boolean' THEN 'bool' WHEN json_typeof(e.value) <> 'number' THEN 'string'
  WHEN e.value::text ~ '^-?[0-9]+$' THEN 'int' ELSE 'float' END AS value_type
  FROM calls c
  CROSS JOIN LATERAL json_each(CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END) e
  WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.operation IS NOT NULL AND c.source = ANY($2::text[]) AND e.key <> ALL($3::text[]) AND json_typeof(e.value) <> 'null'
  AND octet_length(e.key) <= $4::int) t
  GROUP BY 1, 2 ORDER BY t.key COLLATE "C", t.value_type LIMIT $5::bigint OFFSET $6::bigint;

SELECT t.row_digests FROM tables t WHERE t.project_id = $1 AND t.digest = $2;

SELECT t.trace_id, (SELECT count(*)::int FROM (SELECT FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.trace_id = t.trace_id LIMIT $2::bigint) c) AS calls
  FROM unnest($3::text[]) t (trace_id);

SELECT tainted_at IS NOT NULL AS is_tainted FROM checkpoints
  WHERE project_id = $1 AND model_id = $2 AND step = $3 FOR SHARE;

SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS as_of;

SELECT trace_id FROM skein_threaded($1, $2::text[]) t (trace_id);

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  NULL AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE EXISTS (SELECT FROM memberships m
  WHERE (m.scope = ANY ($1::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($2::text[])) AND ((m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
  OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
  ORDER BY u.id LIMIT $3;

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  NULL AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE u.id = $1 AND EXISTS (SELECT FROM memberships m
  WHERE (m.scope = ANY ($2::text[]) OR split_part(m.scope, '/', 1) || '/*' = ANY ($3::text[])) AND ((m.kind = 'user' AND m.issuer = '' AND m.subject = u.id::text)
  OR (m.kind = 'group' AND m.issuer = u.issuer AND m.subject = ANY (u.groups))))
  ORDER BY u.id LIMIT $4;

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  u.groups AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE TRUE
  ORDER BY u.id LIMIT $1;

SELECT u.id, u.issuer, u.subject, u.email, u.email_verified, u.name,
  u.groups AS groups, u.is_active AS active,
  to_char(u.first_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_seen, to_char(u.last_seen, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen
  FROM users u
  WHERE u.id = $1
  ORDER BY u.id LIMIT $2;

SELECT v.object_id, v.version_index, v.val::text AS val
  FROM unnest($1::text[], $2::int[]) AS r(object_id, version_index)
  JOIN object_versions v ON v.project_id = $3 AND v.object_id = r.object_id
  AND v.version_index = r.version_index;

SELECT v.version_index FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.is_latest AND v.digest = $3;

SELECT v.version_index FROM object_versions v WHERE v.project_id = $1 AND v.object_id = $2;

SELECT w.field, w.kind, CASE WHEN t.is_valid THEN 'ready' WHEN w.error IS NOT NULL THEN 'failed' ELSE 'building' END AS status,
  CASE WHEN t.is_valid IS NOT TRUE THEN w.error END AS error,
  coalesce(t.bytes, 0)::float8 AS size_bytes, to_char(w.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at
  FROM call_indexes w LEFT JOIN (
  SELECT c.relname::text COLLATE "C" AS name, x.indisvalid AS is_valid, pg_relation_size(c.oid) AS bytes
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
  WHERE x.indrelid = 'calls'::regclass AND starts_with(c.relname::text, $1::text)) t ON t.name = w.name
  WHERE w.project_id = $2 AND ($3::text IS NULL OR w.name = $4) ORDER BY w.created_at, w.name;

UPDATE "annotation_queues" SET "deleted_at" = now() WHERE ("project_id" = $1 AND "id" = $2);

UPDATE "annotation_queues" SET "description" = $1, "updated_at" = now() WHERE ("project_id" = $2 AND "id" = $3);

UPDATE "erasings" SET "cursor" = $1, "counts" = $2, "touched_at" = statement_timestamp() WHERE ("project_id" = $3 AND "id" = $4);

UPDATE "erasings" SET "request" = $1, "targets" = $2, "cursor" = $3, "counts" = $4, "touched_at" = statement_timestamp(), "ended_at" = statement_timestamp() WHERE ("project_id" = $5 AND "id" = $6);

UPDATE "memberships" SET "role" = $1 WHERE "id" = $2;

UPDATE "models" SET "deleted_at" = now() WHERE ("project_id" = $1 AND "id" = $2);

UPDATE "training_jobs" SET "state" = $1 WHERE ("project_id" = $2 AND "id" = $3);

UPDATE "users" SET "is_active" = $1 WHERE ("id" = $2 AND "is_active" = $3);

UPDATE annotation_queue_items SET annotation_state = $1, annotator_user_id = $2, updated_at = now()
  WHERE project_id = $3 AND id = $4;

UPDATE annotation_queues SET completed_items = completed_items + 1
  WHERE project_id = $1 AND id = $2;

UPDATE annotation_queues SET total_items = total_items + $1::int
  WHERE project_id = $2 AND id = $3;

UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING id, scopes;

UPDATE build_jobs bj SET erased_at = statement_timestamp()
  WHERE bj.project_id = $1 AND bj.build_id = ANY($2::uuid[]) AND bj.erased_at IS NULL
  RETURNING bj.job_id, bj.log_batch_id;

UPDATE builds SET erased_at = statement_timestamp()
  WHERE project_id = $1 AND id = ANY($2::uuid[]) AND erased_at IS NULL RETURNING id;

UPDATE builds SET tainted_at = statement_timestamp()
  WHERE project_id = $1 AND id = ANY($2::uuid[]) AND tainted_at IS NULL;

UPDATE checkpoints SET metrics = metrics || $1::jsonb
  WHERE project_id = $2 AND model_id = $3 AND step = (SELECT max(step) AS step FROM checkpoints WHERE project_id = $4 AND model_id = $5)
  RETURNING step, (SELECT count(*)::int FROM jsonb_object_keys(metrics)) AS names, octet_length(metrics::text) AS bytes;

UPDATE checkpoints SET tainted_at = statement_timestamp()
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) AND tainted_at IS NULL;

UPDATE console_sessions s SET checked_at = now() FROM users u
  WHERE u.id = s.user_id AND s.token_hash IN (
  SELECT token_hash FROM console_sessions
  WHERE refresh_token IS NOT NULL AND checked_at < now() - make_interval(secs => $1) AND expires_at > now()
  ORDER BY checked_at, token_hash LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING s.token_hash, u.issuer, u.subject, s.refresh_token;

UPDATE dataset_row_sources s SET removed_at = now()
  WHERE s.project_id = $1 AND s.object_id = $2 AND s.removed_at IS NULL
  AND TRUE;

UPDATE dataset_row_sources s SET removed_at = now()
  WHERE s.project_id = $1 AND s.object_id = $2 AND s.removed_at IS NULL
  AND s.row_digest IN (SELECT unnest($3::text[]));

UPDATE gateway_processes SET seen_at = now()
  WHERE project_id = ANY($1::text[]) AND process_id = $2::uuid RETURNING project_id;

UPDATE media SET digest = $1, uploaded_at = now()
  WHERE project_id = $2 AND id = $3 AND sha256 = $4 AND digest IS NULL;

UPDATE object_versions SET is_latest = true
  WHERE project_id = $1 AND object_id = $2 AND version_index = (
  SELECT v.version_index FROM object_versions v
  WHERE v.project_id = $3 AND v.object_id = $4 AND v.deleted_at IS NULL
  AND NOT EXISTS (SELECT FROM object_versions v WHERE v.project_id = $5 AND v.object_id = $6 AND v.is_latest)
  ORDER BY v.version_index DESC LIMIT 1);

UPDATE object_versions v SET deleted_at = statement_timestamp(), is_latest = false
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.deleted_at IS NULL
  AND TRUE
  RETURNING v.version_index;

UPDATE object_versions v SET is_latest = false WHERE v.project_id = $1 AND v.object_id = $2 AND v.is_latest;

UPDATE retention_policies SET payload_cursor = NULL, walk_started_at = now()
  WHERE payload_days IS NOT NULL AND walk_started_at < now() - interval '1 day';

UPDATE training_jobs j
  SET status = 'cancelled', finished_at = now(), error_message = 'the model was deleted', lease_expires_at = NULL,
  state = NULL
  WHERE j.project_id = $1 AND j.model_id = $2 AND j.status IN ('queued', 'leased', 'running') RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

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

UPDATE training_jobs j
  SET status = 'succeeded', finished_at = now(), lease_expires_at = NULL, state = NULL, no_step_reason = $1::text,
  step = 1 + (SELECT max(c.step) FROM checkpoints c WHERE c.project_id = $2 AND c.model_id = j.model_id),
  tainted_at = greatest(j.tainted_at, (SELECT max(p.tainted_at) FROM training_jobs p
  WHERE p.project_id = $3 AND p.model_id = j.model_id AND p.step = j.parent_step))
  WHERE j.project_id = $4 AND j.id = $5 AND j.lease_token_hash = $6 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() AND j.status = 'running' RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

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

UPDATE training_jobs j
  SET status = CASE WHEN j.status = 'queued' THEN 'cancelled' ELSE j.status END,
  state = CASE WHEN j.status <> 'queued' THEN j.state END,
  finished_at = CASE WHEN j.status = 'queued' THEN $1::timestamptz END,
  error_message = CASE WHEN j.status = 'queued' THEN $2 END,
  cancel_requested_at = coalesce(j.cancel_requested_at, $3::timestamptz)
  WHERE j.project_id = $4 AND j.id = $5 AND j.status IN ('queued', 'leased', 'running') RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

UPDATE training_jobs j SET lease_expires_at = now() + make_interval(secs => $1) WHERE j.project_id = $2 AND j.id = $3 AND j.lease_token_hash = $4 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

UPDATE training_jobs j SET status = 'running', started_at = coalesce(j.started_at, $1::timestamptz)
  WHERE j.project_id = $2 AND j.id = $3 AND j.lease_token_hash = $4 AND j.status IN ('leased', 'running') AND j.lease_expires_at > now() AND j.status = 'leased' RETURNING j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested;

WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $1 AND c.id IN (SELECT unnest($2::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $3 AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  )
  SELECT id FROM family ORDER BY id;

WITH
  RECURSIVE family AS (
  SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id IN (SELECT unnest($2::text[]))
  UNION
  SELECT child.id, child.trace_id FROM family f CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c
  WHERE c.project_id = $3 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = f.id AND (c.trace_id = f.trace_id) IS TRUE OFFSET 0) "child"
  ), locked AS (
  SELECT id FROM calls WHERE project_id = $4 AND id = ANY(ARRAY(SELECT id FROM family)) ORDER BY id FOR UPDATE
  ), deleted AS (
  UPDATE calls SET deleted_at = now()
  WHERE project_id = $5 AND id = ANY(ARRAY(SELECT id FROM locked)) AND deleted_at IS NULL RETURNING id
  )
  SELECT (SELECT count(*)::int FROM deleted) AS num_deleted, json_build_array(ARRAY(
  SELECT DISTINCT s.call_id FROM dataset_row_sources s
  WHERE s.project_id = $6 AND s.call_id IN (SELECT id FROM deleted) AND s.erased_at IS NULL), ARRAY(
  SELECT i.id FROM annotation_queue_items i WHERE i.project_id = $7 AND i.call_id IN (SELECT id FROM deleted)), ARRAY(
  SELECT b.id FROM builds b
  WHERE b.project_id = $8 AND b.erased_at IS NULL AND b.id IN (
  SELECT i.build_id FROM build_inputs i
  WHERE i.project_id = $9 AND i.kind = 'call' AND i.id IN (SELECT id FROM deleted)))) AS made;

WITH RECURSIVE  spans AS (
  SELECT c.agent_name, c.agent_version, c.operation, c.started_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms, c.exception IS NOT NULL AS is_error,
  (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage, c.counts_gross, true AS is_own
  FROM calls c WHERE c.project_id = $1 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.agent_name IS NOT NULL AND TRUE AND c.source = ANY($2::text[])
  UNION ALL
  SELECT o.names[1], o.names[2], c.operation, c.started_at, NULL, false, c.usage, c.counts_gross, false
  FROM calls c CROSS JOIN LATERAL (
  SELECT (WITH RECURSIVE above AS (
  SELECT c.parent_id, NULL::text[] COLLATE "C" AS names, 0 AS level
  UNION ALL
  SELECT p.parent_id, p.names, a.level + 1 FROM above a CROSS JOIN LATERAL (SELECT p.parent_id, CASE WHEN p.agent_name IS NOT NULL THEN ARRAY[p.agent_name, p.agent_version] END AS names FROM calls p
  WHERE p.project_id = $3 AND p.id = a.parent_id AND (p.trace_id = c.trace_id AND p.deleted_at IS NULL) IS TRUE OFFSET 0) "p"
  WHERE a.names IS NULL AND a.level < $4::int)
  SELECT a.names FROM above a WHERE a.names IS NOT NULL) AS names OFFSET 0) "o"
  WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.source = ANY($6::text[]) AND c.operation IS NOT NULL AND c.agent_name IS NULL AND (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) IS NOT NULL AND o.names IS NOT NULL
  )
  SELECT g.agent_name, g.agent_version, "g_invocation_count" AS "invocation_count", "g_span_count" AS "span_count", "g_total_input_tokens" AS "total_input_tokens", "g_total_output_tokens" AS "total_output_tokens", "g_total_duration_ms" AS "total_duration_ms", "g_error_count" AS "error_count", to_char("g_first_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "first_seen", to_char("g_last_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_seen",
  count(*) OVER ()::int AS total_count
  FROM (
  SELECT s.agent_name, '' AS agent_version, count(*) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own)::int AS "g_invocation_count", count(*) FILTER (WHERE s.is_own)::int AS "g_span_count", coalesce(sum(u.input_tokens), 0)::float8 AS "g_total_input_tokens", coalesce(sum(u.completion_tokens), 0)::float8 AS "g_total_output_tokens", round(coalesce(sum(s.duration_ms) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own), 0)::numeric)::float8 AS "g_total_duration_ms", count(*) FILTER (WHERE s.is_own AND s.is_error)::int AS "g_error_count", min(s.started_at) AS "g_first_seen", max(s.started_at) AS "g_last_seen"
  FROM spans s CROSS JOIN LATERAL (
  SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens
  FROM skein_usage(s.usage, s.counts_gross) u) u
  GROUP BY 1, 2) g
  ORDER BY "last_seen" DESC NULLS LAST, agent_name COLLATE "C", agent_version COLLATE "C"
  LIMIT $7::bigint OFFSET $8::bigint;

WITH RECURSIVE below AS (
  SELECT c.id, c.trace_id, c.agent_version, 0 AS level FROM calls c
  WHERE c.project_id = $1 AND c.agent_name = $2 AND c.deleted_at IS NULL
  UNION ALL
  SELECT c.id, c.trace_id, b.agent_version, b.level + 1 FROM below b CROSS JOIN LATERAL (SELECT c.id, c.trace_id FROM calls c WHERE c.project_id = $3 AND c.parent_id = b.id AND c.agent_name IS NULL
  AND c.deleted_at IS NULL AND (c.trace_id = b.trace_id) IS TRUE OFFSET 0) "c"
  WHERE b.level < $4::int), spans AS (
  SELECT c.agent_name, c.agent_version, c.operation, c.started_at, (CASE WHEN c.ended_at >= c.started_at THEN (extract(epoch FROM c.ended_at - c.started_at) * 1000)::float8 END) AS duration_ms, c.exception IS NOT NULL AS is_error,
  (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) AS usage, c.counts_gross, true AS is_own
  FROM calls c WHERE c.project_id = $5 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.agent_name IS NOT NULL AND c.agent_name = $6 AND c.source = ANY($7::text[])
  UNION ALL
  SELECT $8::text, b.agent_version, c.operation, c.started_at, NULL, false, c.usage, c.counts_gross, false
  FROM below b CROSS JOIN LATERAL (SELECT c.* FROM calls c WHERE c.project_id = $9 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = b.id AND c.operation IS NOT NULL AND (CASE WHEN NOT (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') THEN c.usage END) IS NOT NULL AND (c.source = ANY($10::text[])) IS TRUE OFFSET 0) "c" WHERE b.level > 0
  )
  SELECT g.agent_name, g.agent_version, "g_invocation_count" AS "invocation_count", "g_span_count" AS "span_count", "g_total_input_tokens" AS "total_input_tokens", "g_total_output_tokens" AS "total_output_tokens", "g_total_duration_ms" AS "total_duration_ms", "g_error_count" AS "error_count", to_char("g_first_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "first_seen", to_char("g_last_seen" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "last_seen",
  count(*) OVER ()::int AS total_count
  FROM (
  SELECT s.agent_name, coalesce(s.agent_version, '') AS agent_version, count(*) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own)::int AS "g_invocation_count", count(*) FILTER (WHERE s.is_own)::int AS "g_span_count", coalesce(sum(u.input_tokens), 0)::float8 AS "g_total_input_tokens", coalesce(sum(u.completion_tokens), 0)::float8 AS "g_total_output_tokens", round(coalesce(sum(s.duration_ms) FILTER (WHERE s.operation = 'invoke_agent' AND s.is_own), 0)::numeric)::float8 AS "g_total_duration_ms", count(*) FILTER (WHERE s.is_own AND s.is_error)::int AS "g_error_count", min(s.started_at) AS "g_first_seen", max(s.started_at) AS "g_last_seen"
  FROM spans s CROSS JOIN LATERAL (
  SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens
  FROM skein_usage(s.usage, s.counts_gross) u) u
  GROUP BY 1, 2) g
  ORDER BY "last_seen" DESC NULLS LAST, agent_name COLLATE "C", agent_version COLLATE "C"
  LIMIT $11::bigint OFFSET $12::bigint;

WITH RECURSIVE found AS (
  SELECT min(t."alias") AS name FROM "object_aliases" t WHERE t.project_id = $1 AND TRUE
  UNION ALL
  SELECT (SELECT min(t."alias") AS name FROM "object_aliases" t WHERE t.project_id = $2 AND t."alias" > f.name) FROM found f WHERE f.name IS NOT NULL)
  SELECT to_json(name)::text FROM found WHERE name IS NOT NULL; -- a list

WITH RECURSIVE found AS (
  SELECT min(t."tag") AS name FROM "object_tags" t WHERE t.project_id = $1 AND TRUE
  UNION ALL
  SELECT (SELECT min(t."tag") AS name FROM "object_tags" t WHERE t.project_id = $2 AND t."tag" > f.name) FROM found f WHERE f.name IS NOT NULL)
  SELECT to_json(name)::text FROM found WHERE name IS NOT NULL; -- a list

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

WITH RECURSIVE up AS (
  SELECT c.id, c.parent_id, c.trace_id, c.started_at, ((c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $1 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $2 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $3::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $4 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $5 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $6::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $7::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $8::float8), d.started_at + make_interval(mins => $9::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $10 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $11 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $12::float8), c.started_at + make_interval(mins => $13::int))
  ORDER BY d.started_at, d.id LIMIT $14::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $15 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $16::float8), c.started_at + make_interval(mins => $17::int))
  ORDER BY d.started_at, d.id LIMIT $18::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $19 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AND NOT (c.response_id IS NOT NULL AND NOT c.response_id LIKE $20 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1')) AS is_last FROM calls c
  WHERE c.project_id = $21 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = ANY($22::text[])
  UNION
  SELECT c.* FROM unnest($23::text[]) AS p (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.started_at, false AS is_last FROM calls c
  WHERE c.project_id = $24 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.response_id >= $25::text || p.id || '/' AND c.response_id < $26::text || p.id || '0' OFFSET 0) "c"
  UNION
  SELECT c.* FROM (SELECT DISTINCT response, slot
  FROM unnest($27::text[], $28::timestamptz[]) AS s (response, slot)) s CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.started_at, false AS is_last FROM calls c
  WHERE c.project_id = $29 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.response_id = s.response
  AND c.started_at >= s.slot - make_interval(mins => $30::int) AND c.started_at < s.slot + interval '5 minutes' + make_interval(mins => $31::int) OFFSET 0) "c"
  UNION
  SELECT c.* FROM up CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.trace_id, c.started_at, ((c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $32 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $33 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $34::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $35 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $36 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $37::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $38::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $39::float8), d.started_at + make_interval(mins => $40::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $41 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $42 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $43::float8), c.started_at + make_interval(mins => $44::int))
  ORDER BY d.started_at, d.id LIMIT $45::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $46 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $47::float8), c.started_at + make_interval(mins => $48::int))
  ORDER BY d.started_at, d.id LIMIT $49::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $50 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AND NOT (c.response_id IS NOT NULL AND NOT c.response_id LIKE $51 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1')) AS is_last FROM calls c
  WHERE c.project_id = $52 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = up.parent_id AND (c.trace_id = up.trace_id) IS TRUE OFFSET 0) "c"
  WHERE NOT up.is_last
  )
  SELECT DISTINCT s.slot::text, s.slot >= now() - interval '5 minutes' AS is_open, (extract(epoch FROM s.slot) * 1000)::float8 AS ms
  FROM (SELECT date_bin(interval '5 minutes', up.started_at, 'epoch') AS slot FROM up) s;

WITH doomed AS MATERIALIZED (
  SELECT f.id FROM unnest($1::text[]) r (ref) CROSS JOIN LATERAL (
  (SELECT f.id FROM feedback f WHERE f.project_id = $2 AND f.ref >= r.ref AND f.ref <= r.ref
  ORDER BY f.ref, f.id LIMIT $3::bigint)
  UNION ALL
  (SELECT f.id FROM feedback f WHERE f.project_id = $4 AND f.ref > r.ref || '/' AND f.ref < r.ref || '0'
  ORDER BY f.ref, f.id LIMIT $5::bigint)) f
  LIMIT $6::bigint
  ), locked AS MATERIALIZED (
  SELECT f.id FROM feedback f WHERE f.project_id = $7 AND f.id IN (SELECT id FROM doomed)
  ORDER BY f.id FOR UPDATE
  )
  DELETE FROM feedback f USING locked l WHERE f.project_id = $8 AND f.id = l.id RETURNING 1;

WITH f AS (
  INSERT INTO feedback AS f (project_id, id, user_id, is_opaque, "feedback_type", "ref", "annotation_ref", "runnable_ref", "call_ref", "trigger_ref", "queue_id", "creator", "span_agent_name", "span_agent_version", "span_status_code", "span_conversation_id", "span_trace_id", "scorer_trace_id", "scorer_tags", "scorer_tag_reasons", "scorer_tag_confidences", "scorer_ratings", "scorer_rating_reasons", "scorer_rating_confidences", "payload")
  VALUES ($1, $2, $3, $4::boolean, $5::"text", $6::"text", $7::"text", $8::"text", $9::"text", $10::"text", $11::"text", $12::"text", $13::"text", $14::"text", $15::"text", $16::"text", $17::"text", $18::"text", $19::"json", $20::"json", $21::"json", $22::"json", $23::"json", $24::"json", $25::"json")
  ON CONFLICT (project_id, id) DO UPDATE SET id = f.id
  RETURNING *)
  SELECT (SELECT row_to_json(t)::text FROM (SELECT f.id AS "id", to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", f.user_id AS "svc_user_id", f.payload AS "payload") t) AS json,
  (f."feedback_type"::text IS NOT DISTINCT FROM $26::text AND f."ref"::text IS NOT DISTINCT FROM $27::text AND f."annotation_ref"::text IS NOT DISTINCT FROM $28::text AND f."runnable_ref"::text IS NOT DISTINCT FROM $29::text AND f."call_ref"::text IS NOT DISTINCT FROM $30::text AND f."trigger_ref"::text IS NOT DISTINCT FROM $31::text AND f."queue_id"::text IS NOT DISTINCT FROM $32::text AND f."creator"::text IS NOT DISTINCT FROM $33::text AND f."span_agent_name"::text IS NOT DISTINCT FROM $34::text AND f."span_agent_version"::text IS NOT DISTINCT FROM $35::text AND f."span_status_code"::text IS NOT DISTINCT FROM $36::text AND f."span_conversation_id"::text IS NOT DISTINCT FROM $37::text AND f."span_trace_id"::text IS NOT DISTINCT FROM $38::text AND f."scorer_trace_id"::text IS NOT DISTINCT FROM $39::text AND f."scorer_tags"::text IS NOT DISTINCT FROM $40::text AND f."scorer_tag_reasons"::text IS NOT DISTINCT FROM $41::text AND f."scorer_tag_confidences"::text IS NOT DISTINCT FROM $42::text AND f."scorer_ratings"::text IS NOT DISTINCT FROM $43::text AND f."scorer_rating_reasons"::text IS NOT DISTINCT FROM $44::text AND f."scorer_rating_confidences"::text IS NOT DISTINCT FROM $45::text AND f."payload"::text IS NOT DISTINCT FROM $46::text) AS is_same FROM f;

WITH f AS (
  INSERT INTO feedback AS f (project_id, id, user_id, is_opaque, "feedback_type", "ref", "annotation_ref", "runnable_ref", "call_ref", "trigger_ref", "queue_id", "creator", "span_agent_name", "span_agent_version", "span_status_code", "span_conversation_id", "span_trace_id", "scorer_trace_id", "scorer_tags", "scorer_tag_reasons", "scorer_tag_confidences", "scorer_ratings", "scorer_rating_reasons", "scorer_rating_confidences", "payload", "event_times")
  VALUES ($1, $2, $3, $4::boolean, $5::"text", $6::"text", $7::"text", $8::"text", $9::"text", $10::"text", $11::"text", $12::"text", $13::"text", $14::"text", $15::"text", $16::"text", $17::"text", $18::"text", $19::"json", $20::"json", $21::"json", $22::"json", $23::"json", $24::"json", $25::"json", $26::"json")
  ON CONFLICT (project_id, id) DO UPDATE SET id = f.id
  RETURNING *)
  SELECT (SELECT row_to_json(t)::text FROM (SELECT f.id AS "id", to_char(f.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", f.user_id AS "svc_user_id", f.payload AS "payload") t) AS json,
  (f."feedback_type"::text IS NOT DISTINCT FROM $27::text AND f."ref"::text IS NOT DISTINCT FROM $28::text AND f."annotation_ref"::text IS NOT DISTINCT FROM $29::text AND f."runnable_ref"::text IS NOT DISTINCT FROM $30::text AND f."call_ref"::text IS NOT DISTINCT FROM $31::text AND f."trigger_ref"::text IS NOT DISTINCT FROM $32::text AND f."queue_id"::text IS NOT DISTINCT FROM $33::text AND f."creator"::text IS NOT DISTINCT FROM $34::text AND f."span_agent_name"::text IS NOT DISTINCT FROM $35::text AND f."span_agent_version"::text IS NOT DISTINCT FROM $36::text AND f."span_status_code"::text IS NOT DISTINCT FROM $37::text AND f."span_conversation_id"::text IS NOT DISTINCT FROM $38::text AND f."span_trace_id"::text IS NOT DISTINCT FROM $39::text AND f."scorer_trace_id"::text IS NOT DISTINCT FROM $40::text AND f."scorer_tags"::text IS NOT DISTINCT FROM $41::text AND f."scorer_tag_reasons"::text IS NOT DISTINCT FROM $42::text AND f."scorer_tag_confidences"::text IS NOT DISTINCT FROM $43::text AND f."scorer_ratings"::text IS NOT DISTINCT FROM $44::text AND f."scorer_rating_reasons"::text IS NOT DISTINCT FROM $45::text AND f."scorer_rating_confidences"::text IS NOT DISTINCT FROM $46::text AND f."payload"::text IS NOT DISTINCT FROM $47::text AND f."event_times"::text IS NOT DISTINCT FROM $48::text) AS is_same FROM f;

WITH file AS (
  INSERT INTO files (project_id, digest, upload_id, size_bytes)
  VALUES ($1, $2, $3::uuid, $4::int)
  ON CONFLICT DO NOTHING RETURNING upload_id)
  INSERT INTO file_chunks (project_id, upload_id, chunk_index, bytes)
  SELECT $5, upload_id, 0, $6::bytea FROM file;

WITH found AS MATERIALIZED (
  SELECT c.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.linked_call_id, c.source FROM calls c
  WHERE c.project_id = $2 AND c.id = t.id AND c.own_source IS NULL LIMIT 1 OFFSET 0) "c"), above AS MATERIALIZED (
  SELECT f.*, (SELECT a.source FROM calls a WHERE a.project_id = $3 AND a.id = f.parent_id AND a.op_name IS NOT NULL LIMIT 1) AS of_parent, (SELECT a.source FROM calls a WHERE a.project_id = $4 AND a.id = f.linked_call_id AND a.op_name IS NOT NULL LIMIT 1) AS of_linked
  FROM found f
  ), wanted AS MATERIALIZED (
  SELECT w.id, w.taken FROM (
  SELECT a.id, a.source, coalesce(nullif(a.of_parent, $5), nullif(a.of_linked, $6),
  CASE WHEN a.parent_id IS NOT NULL AND a.of_parent IS NULL OR a.linked_call_id IS NOT NULL AND a.of_linked IS NULL
  THEN a.source ELSE $7 END) AS taken
  FROM above a) w
  WHERE w.taken <> w.source LIMIT $8::bigint
  ), locked AS MATERIALIZED (
  SELECT c.id FROM calls c WHERE c.project_id = $9 AND c.id = ANY(ARRAY(SELECT id FROM wanted)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET source = (SELECT jsonb_object_agg(w.id, w.taken) FROM wanted w) ->> c.id
  WHERE c.project_id = $10 AND c.id = ANY(ARRAY(SELECT id FROM locked)) AND c.own_source IS NULL
  RETURNING c.id;

WITH found AS MATERIALIZED (
  SELECT c.* FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.linked_call_id, c.source FROM calls c
  WHERE c.project_id = $2 AND c.parent_id = t.id AND c.own_source IS NULL OFFSET 0) "c"
  UNION
  SELECT c.* FROM unnest($3::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id, c.parent_id, c.linked_call_id, c.source FROM calls c
  WHERE c.project_id = $4 AND c.linked_call_id = t.id AND c.own_source IS NULL OFFSET 0) "c"), above AS MATERIALIZED (
  SELECT f.*, (SELECT a.source FROM calls a WHERE a.project_id = $5 AND a.id = f.parent_id AND a.op_name IS NOT NULL LIMIT 1) AS of_parent, (SELECT a.source FROM calls a WHERE a.project_id = $6 AND a.id = f.linked_call_id AND a.op_name IS NOT NULL LIMIT 1) AS of_linked
  FROM found f
  ), wanted AS MATERIALIZED (
  SELECT w.id, w.taken FROM (
  SELECT a.id, a.source, coalesce(nullif(a.of_parent, $7), nullif(a.of_linked, $8),
  CASE WHEN a.parent_id IS NOT NULL AND a.of_parent IS NULL OR a.linked_call_id IS NOT NULL AND a.of_linked IS NULL
  THEN a.source ELSE $9 END) AS taken
  FROM above a) w
  WHERE w.taken <> w.source LIMIT $10::bigint
  ), locked AS MATERIALIZED (
  SELECT c.id FROM calls c WHERE c.project_id = $11 AND c.id = ANY(ARRAY(SELECT id FROM wanted)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET source = (SELECT jsonb_object_agg(w.id, w.taken) FROM wanted w) ->> c.id
  WHERE c.project_id = $12 AND c.id = ANY(ARRAY(SELECT id FROM locked)) AND c.own_source IS NULL
  RETURNING c.id;

WITH found AS MATERIALIZED (
  SELECT c.id FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT c.id FROM calls c WHERE c.project_id = $2 AND c.parent_id = t.id AND NOT c.is_orphan OFFSET 0) "c" WHERE c.id NOT IN (SELECT unnest($3::text[])) LIMIT $4::bigint),
  locked AS MATERIALIZED (
  SELECT c.id FROM calls c WHERE c.project_id = $5 AND c.id = ANY(ARRAY(SELECT id FROM found)) ORDER BY c.id FOR UPDATE)
  UPDATE calls c SET is_orphan = true
  WHERE c.project_id = $6 AND c.id = ANY(ARRAY(SELECT id FROM locked)) RETURNING c.id, c.trace_id;

WITH found AS MATERIALIZED (SELECT bucket - 1 AS bucket, "op_name", sum(call_count)::float8 AS call_count,
  sum(ended_count)::float8 AS ended_count, sum(error_count)::float8 AS error_count, sum(instant_count)::float8 AS instant_count, sum(latency_sum)::text AS latency_sum,
  min(latency_min)::text AS latency_min, max(latency_max)::text AS latency_max
  FROM (SELECT width_bucket(c.started_at, $1::timestamptz[]) AS bucket, c.op_name AS "op_name", count(*) FILTER (WHERE TRUE) AS call_count,
  count(*) FILTER (WHERE c.ended_at >= c.started_at AND TRUE) AS ended_count, count(c.exception) FILTER (WHERE TRUE) AS error_count,
  count(*) FILTER (WHERE c.ended_at = c.started_at AND TRUE) AS instant_count,
  sum((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE TRUE) AS latency_sum, min((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE TRUE) AS latency_min,
  max((CASE WHEN c.ended_at >= c.started_at THEN extract(epoch FROM c.ended_at - c.started_at) * 1000000 END)::bigint) FILTER (WHERE TRUE) AS latency_max
  FROM unnest($2::timestamptz[], $3::timestamptz[]) AS r (since, until) CROSS JOIN LATERAL (
  SELECT c.* FROM calls c WHERE c.project_id = $4 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= r.since AND c.started_at < r.until AND c.source = ANY($5::text[])) c GROUP BY bucket, "op_name") t GROUP BY bucket, "op_name" LIMIT $6::bigint)
  SELECT size.is_too_large, found.* FROM (
  SELECT count(*) > $7::bigint OR sum(octet_length(found::text)) > $8::bigint AS is_too_large FROM found) size
  LEFT JOIN found ON NOT size.is_too_large WHERE size.is_too_large OR found.bucket IS NOT NULL ORDER BY bucket, "op_name";

WITH found AS MATERIALIZED (SELECT bucket - 1 AS bucket, llm_id, segment, tier, unknown_kinds, "op_name",
  sum(call_count)::float8 AS call_count, sum(prompt_tokens)::text AS prompt_tokens,
  sum(completion_tokens)::text AS completion_tokens, sum(cache_read_input_tokens)::text AS cache_read_input_tokens,
  sum(cache_creation_input_tokens)::text AS cache_creation_input_tokens, min(min_input)::float8 AS min_input,
  max(max_input)::float8 AS max_input, (CASE WHEN count(t.details) > 0 THEN ARRAY[coalesce(sum(t.details[1]), 0), coalesce(sum(t.details[2]), 0), coalesce(sum(t.details[3]), 0), coalesce(sum(t.details[4]), 0), coalesce(sum(t.details[5]), 0), coalesce(sum(t.details[6]), 0), coalesce(sum(t.details[7]), 0), coalesce(sum(t.details[8]), 0), coalesce(sum(t.details[9]), 0), coalesce(sum(t.details[10]), 0), coalesce(sum(t.details[11]), 0)] END)::text[] AS details, (extract(epoch FROM min(first)) * 1000)::float8 AS first,
  (extract(epoch FROM max(last)) * 1000)::float8 AS last
  FROM (SELECT width_bucket(u.started_at, $1::timestamptz[]) AS bucket, u.llm_id,
  width_bucket(u.started_at, $2::timestamptz[]) AS segment, width_bucket(u.input_tokens, $3::bigint[]) AS tier,
  u.unknown_kinds, "op_name", count(*) AS call_count, sum(u.prompt_tokens) AS prompt_tokens,
  sum(u.completion_tokens) AS completion_tokens, sum(u.cache_read_input_tokens) AS cache_read_input_tokens,
  sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens,
  min(u.input_tokens) AS min_input, max(u.input_tokens) AS max_input, CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END AS details, min(u.started_at) AS first, max(u.started_at) AS last
  FROM (
  WITH RECURSIVE own AS MATERIALIZED (
  SELECT c.id, c.trace_id, c.response_id, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $4 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum, c.started_at, c.op_name AS "op_name", u.llm_id, u.unknown_kinds,
  u.input_tokens AS said_input, u.completion_tokens AS said_output, u.cache_read_input_tokens AS said_read,
  u.cache_creation_input_tokens AS said_created, u.details AS said_details
  FROM (SELECT c.* FROM unnest($5::timestamptz[], $6::timestamptz[]) AS r (since, until) CROSS JOIN LATERAL (
  SELECT c.* FROM calls c WHERE c.project_id = $7 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL
  AND c.started_at >= r.since AND c.started_at < r.until AND c.source = ANY($8::text[])) c) c CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $9 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $10 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $11::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $12 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $13 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $14::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $15::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $16::float8), d.started_at + make_interval(mins => $17::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $18 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $19 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $20::float8), c.started_at + make_interval(mins => $21::int))
  ORDER BY d.started_at, d.id LIMIT $22::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $23 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $24::float8), c.started_at + make_interval(mins => $25::int))
  ORDER BY d.started_at, d.id LIMIT $26::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $27 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))
  ), walk AS (
  SELECT DISTINCT o.id AS owner, CASE WHEN NOT o.is_sum THEN o.response_id END AS response_id, o.tells_one, o.id, o.trace_id, CASE WHEN o.tells_one THEN o.response_id END AS inside,
  true AS goes_on, false AS is_below, false AS is_same FROM own o
  UNION ALL
  SELECT w.owner, w.response_id, w.tells_one, c.id, c.trace_id,
  CASE WHEN c.says AND c.tells_one AND NOT w.tells_one THEN c.response_id ELSE w.inside END,
  NOT c.says OR (c.tells_one AND NOT w.tells_one),
  c.says AND CASE WHEN w.inside IS NULL THEN true WHEN w.tells_one THEN c.told IS NULL AND NOT c.is_sum
  ELSE c.is_sum OR (c.told IS NOT NULL AND c.told <> w.inside) END,
  c.says AND c.response_id = w.response_id
  FROM walk w CROSS JOIN LATERAL (SELECT c.id, c.trace_id, c.response_id, CASE WHEN NOT c.response_id LIKE $28 THEN c.response_id END AS told,
  (c.usage IS NOT NULL AND NOT (c.response_id IS NOT NULL AND (
  (c.response_id LIKE $29 AND EXISTS (SELECT FROM (SELECT d.trace_id, d.parent_id, d.response_id, d.ended_at, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $30 AND d.op_name IS NOT NULL AND d.deleted_at IS NULL AND TRUE
  AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= c.ended_at
  ORDER BY d.started_at, d.id LIMIT $31::bigint) d
  WHERE d.parent_id = c.parent_id AND d.trace_id = c.trace_id AND d.ended_at <= c.ended_at AND d.usage IS NOT NULL
  AND coalesce(d.response_id, '') NOT LIKE $32 AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u))) OR
  EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $33 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) < (c.started_at, c.id) AND d.started_at >= c.started_at - make_interval(mins => $34::int)
  ORDER BY d.started_at DESC, d.id DESC LIMIT $35::bigint) d WHERE least(greatest(d.started_at, d.ended_at) + make_interval(secs => $36::float8), d.started_at + make_interval(mins => $37::int)) >= c.started_at AND (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') OR (NOT c.response_id LIKE $38 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND d.trace_id <> c.trace_id)))
  OR ((coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND EXISTS (SELECT FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $39 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $40::float8), c.started_at + make_interval(mins => $41::int))
  ORDER BY d.started_at, d.id LIMIT $42::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AND NOT (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')))
  OR coalesce((SELECT d.trace_id = c.trace_id FROM (SELECT d.trace_id, d.started_at, d.ended_at, d.id, d.response_id, d.usage, d.counts_gross FROM calls d
  WHERE d.project_id = $43 AND d.response_id = c.response_id AND d.op_name IS NOT NULL
  AND d.deleted_at IS NULL AND d.usage IS NOT NULL AND TRUE AND (d.started_at, d.id) > (c.started_at, c.id) AND d.started_at <= least(greatest(c.started_at, c.ended_at) + make_interval(secs => $44::float8), c.started_at + make_interval(mins => $45::int))
  ORDER BY d.started_at, d.id LIMIT $46::bigint) d WHERE (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(d.usage, d.counts_gross) u) = (SELECT ARRAY[sum(u.input_tokens), sum(u.completion_tokens)]
  FROM skein_usage(c.usage, c.counts_gross) u) AND NOT c.response_id LIKE $47 AND (coalesce(d.response_id, '') LIKE '~%' AND d.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') = (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') ORDER BY d.started_at, d.id LIMIT 1), false)))) AS says, (c.response_id IS NOT NULL AND NOT c.response_id LIKE $48 AND json_array_length(c.usage) = 1
  AND coalesce(c.usage -> 0 ->> 'requests', '1') = '1') AS tells_one, (coalesce(c.response_id, '') LIKE '~%' AND c.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0') AS is_sum FROM calls c
  WHERE c.project_id = $49 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.parent_id = w.id AND c.id <> w.owner AND (c.trace_id = w.trace_id) IS TRUE OFFSET 0) "c"
  WHERE w.goes_on
  ), below AS MATERIALIZED (
  SELECT w.owner, u.llm_id, sum(u.input_tokens)::bigint AS input, sum(u.completion_tokens)::bigint AS output,
  sum(u.cache_read_input_tokens)::bigint AS read, sum(u.cache_creation_input_tokens)::bigint AS created,
  (CASE WHEN count(u.details) > 0 THEN ARRAY[coalesce(sum(u.details[1]), 0), coalesce(sum(u.details[2]), 0), coalesce(sum(u.details[3]), 0), coalesce(sum(u.details[4]), 0), coalesce(sum(u.details[5]), 0), coalesce(sum(u.details[6]), 0), coalesce(sum(u.details[7]), 0), coalesce(sum(u.details[8]), 0), coalesce(sum(u.details[9]), 0), coalesce(sum(u.details[10]), 0), coalesce(sum(u.details[11]), 0)] END)::bigint[] AS details
  FROM walk w CROSS JOIN LATERAL (SELECT c.usage, c.counts_gross FROM calls c WHERE c.project_id = $50 AND c.id = w.id OFFSET 0) "c"
  CROSS JOIN LATERAL skein_detailed_usage(c.usage, c.counts_gross) u
  WHERE w.is_below GROUP BY 1, 2
  ), totals AS (
  SELECT b.owner, min(b.llm_id) AS llm_id, count(*) = 1 AS is_one, sum(b.input) AS input, sum(b.output) AS output, sum(greatest(b.input - coalesce(o.said_input, 0), 0)) AS more_input,
  sum(greatest(b.output - coalesce(o.said_output, 0), 0)) AS more_output
  FROM below b LEFT JOIN own o ON o.id = b.owner AND o.llm_id = b.llm_id GROUP BY 1
  ), beyond AS (
  SELECT o.id, o.llm_id, b.owner IS NOT NULL OR o.is_sum AS is_told, greatest(o.said_input - coalesce(b.input, 0), 0) AS input,
  greatest(o.said_output - coalesce(b.output, 0), 0) AS output, greatest(o.said_read - coalesce(b.read, 0), 0) AS read,
  greatest(o.said_created - coalesce(b.created, 0), 0) AS created, b.details AS details_below,
  CASE WHEN o.is_sum THEN t.more_input ELSE 0 END AS more_input, CASE WHEN o.is_sum THEN t.more_output ELSE 0 END AS more_output,
  t.is_one AND count(*) OVER (PARTITION BY o.id) = 1 AND o.said_input = t.input AND o.said_output = t.output
  AND (starts_with(regexp_replace(lower(o.llm_id), $51, '', 'g'), regexp_replace(lower(t.llm_id), $52, '', 'g')) OR starts_with(regexp_replace(lower(t.llm_id), $53, '', 'g'), regexp_replace(lower(o.llm_id), $54, '', 'g'))
  OR $55 IN (o.llm_id, t.llm_id)) AS is_all
  FROM own o JOIN totals t ON t.owner = o.id LEFT JOIN below b ON b.owner = o.id AND b.llm_id = o.llm_id
  ), remaining AS (
  SELECT y.*, greatest(y.input - greatest(y.more_input - (sum(y.input) OVER before - y.input), 0), 0)::bigint AS input_tokens,
  greatest(y.output - greatest(y.more_output - (sum(y.output) OVER before - y.output), 0), 0)::bigint AS completion_tokens
  FROM beyond y WHERE NOT y.is_all AND NOT EXISTS (SELECT FROM walk w WHERE w.owner = y.id AND w.is_same)
  WINDOW before AS (PARTITION BY y.id ORDER BY y.llm_id ROWS UNBOUNDED PRECEDING)
  ), tokens AS (
  SELECT o.*, o.said_input AS input_tokens, o.said_output AS completion_tokens, o.said_read AS read, o.said_created AS created,
  NULL::bigint[] AS details_below
  FROM own o WHERE NOT EXISTS (SELECT FROM walk w WHERE w.owner = o.id AND (w.is_below OR w.is_same))
  UNION ALL
  SELECT o.*, r.input_tokens, r.completion_tokens, r.read, r.created, r.details_below
  FROM own o JOIN remaining r ON r.id = o.id AND r.llm_id = o.llm_id
  WHERE NOT r.is_told OR r.input_tokens > 0 OR r.completion_tokens > 0
  ), cached AS (
  SELECT t.*, least(t.read, t.input_tokens) AS cache_read_input_tokens,
  least(t.created, t.input_tokens - least(t.read, t.input_tokens)) AS cache_creation_input_tokens FROM tokens t
  )
  SELECT c.*, c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens AS prompt_tokens, CASE WHEN c.said_details IS NOT NULL THEN skein_details_left(c.said_details, c.details_below,
  ARRAY[c.input_tokens - c.cache_read_input_tokens - c.cache_creation_input_tokens, c.completion_tokens, c.cache_read_input_tokens, c.cache_creation_input_tokens], $56::int[]) END AS details FROM cached c) u GROUP BY bucket, llm_id, segment, tier, unknown_kinds, "op_name") t GROUP BY bucket, llm_id, segment, tier, unknown_kinds, "op_name" LIMIT $57::bigint)
  SELECT size.is_too_large, found.* FROM (
  SELECT count(*) > $58::bigint OR sum(octet_length(found::text)) > $59::bigint AS is_too_large FROM found) size
  LEFT JOIN found ON NOT size.is_too_large WHERE size.is_too_large OR found.bucket IS NOT NULL ORDER BY bucket, llm_id COLLATE "C", "op_name", segment, tier, unknown_kinds;

WITH gone AS (DELETE FROM "retention_policies" t WHERE t.project_id = $1 RETURNING 1)
  SELECT count(*)::int AS rows, NULL::text[] AS last FROM gone;

WITH models AS (
  DELETE FROM call_slot_models WHERE project_id = $1 AND slot = ANY($2::timestamptz[])
  )
  DELETE FROM call_slots WHERE project_id = $3 AND slot = ANY($4::timestamptz[]) RETURNING bytes::text;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."batch_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "body_chunks" t
  WHERE t.project_id = $1 AND (t."batch_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."batch_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."batch_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "body_chunks" t USING doomed d WHERE t.project_id = $8 AND t."batch_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."batch_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "body_chunks" t
  WHERE t.project_id = $1 AND (t."batch_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."batch_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "body_chunks" t USING doomed d WHERE t.project_id = $6 AND t."batch_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."group_index"::text, t."trajectory_index"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_units" t
  WHERE t.project_id = $1 AND (t."build_id", t."group_index", t."trajectory_index") <= ($2::"uuid", $3::"int4", $4::"int4")
  AND (t."build_id", t."group_index", t."trajectory_index") > ($5::"uuid", $6::"int4", $7::"int4")
  ORDER BY t."build_id", t."group_index", t."trajectory_index" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "build_units" t USING doomed d WHERE t.project_id = $10 AND t."build_id" = d.erased_key[$11::int]::"uuid" AND t."group_index" = d.erased_key[$12::int]::"int4" AND t."trajectory_index" = d.erased_key[$13::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."group_index"::text, t."trajectory_index"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_units" t
  WHERE t.project_id = $1 AND (t."build_id", t."group_index", t."trajectory_index") <= ($2::"uuid", $3::"int4", $4::"int4")
  ORDER BY t."build_id", t."group_index", t."trajectory_index" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "build_units" t USING doomed d WHERE t.project_id = $7 AND t."build_id" = d.erased_key[$8::int]::"uuid" AND t."group_index" = d.erased_key[$9::int]::"int4" AND t."trajectory_index" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."job_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_jobs" t
  WHERE t.project_id = $1 AND (t."build_id", t."job_id") <= ($2::"uuid", $3::"uuid")
  AND (t."build_id", t."job_id") > ($4::"uuid", $5::"uuid")
  ORDER BY t."build_id", t."job_id" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "build_jobs" t USING doomed d WHERE t.project_id = $8 AND t."build_id" = d.erased_key[$9::int]::"uuid" AND t."job_id" = d.erased_key[$10::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."job_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_jobs" t
  WHERE t.project_id = $1 AND (t."build_id", t."job_id") <= ($2::"uuid", $3::"uuid")
  ORDER BY t."build_id", t."job_id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "build_jobs" t USING doomed d WHERE t.project_id = $6 AND t."build_id" = d.erased_key[$7::int]::"uuid" AND t."job_id" = d.erased_key[$8::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."kind"::text, t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_inputs" t
  WHERE t.project_id = $1 AND (t."build_id", t."kind", t."id") <= ($2::"uuid", $3::"text", $4::"text")
  AND (t."build_id", t."kind", t."id") > ($5::"uuid", $6::"text", $7::"text")
  ORDER BY t."build_id", t."kind", t."id" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "build_inputs" t USING doomed d WHERE t.project_id = $10 AND t."build_id" = d.erased_key[$11::int]::"uuid" AND t."kind" = d.erased_key[$12::int]::"text" AND t."id" = d.erased_key[$13::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."kind"::text, t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "build_inputs" t
  WHERE t.project_id = $1 AND (t."build_id", t."kind", t."id") <= ($2::"uuid", $3::"text", $4::"text")
  ORDER BY t."build_id", t."kind", t."id" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "build_inputs" t USING doomed d WHERE t.project_id = $7 AND t."build_id" = d.erased_key[$8::int]::"uuid" AND t."kind" = d.erased_key[$9::int]::"text" AND t."id" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "build_chunks" t
  WHERE t.project_id = $1 AND (t."build_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."build_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."build_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "build_chunks" t USING doomed d WHERE t.project_id = $8 AND t."build_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."build_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."text"), 0) AS erased_bytes
  FROM "build_chunks" t
  WHERE t.project_id = $1 AND (t."build_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."build_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "build_chunks" t USING doomed d WHERE t.project_id = $6 AND t."build_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "files" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  AND (t."digest") > ($3::"text")
  ORDER BY t."digest" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "files" t USING doomed d WHERE t.project_id = $6 AND t."digest" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "files" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  ORDER BY t."digest" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "files" t USING doomed d WHERE t.project_id = $5 AND t."digest" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."row_digests"), 0) AS erased_bytes
  FROM "tables" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  AND (t."digest") > ($3::"text")
  ORDER BY t."digest" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "tables" t USING doomed d WHERE t.project_id = $6 AND t."digest" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."row_digests"), 0) AS erased_bytes
  FROM "tables" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  ORDER BY t."digest" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "tables" t USING doomed d WHERE t.project_id = $5 AND t."digest" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "table_rows" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  AND (t."digest") > ($3::"text")
  ORDER BY t."digest" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "table_rows" t USING doomed d WHERE t.project_id = $6 AND t."digest" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."digest"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "table_rows" t
  WHERE t.project_id = $1 AND (t."digest") <= ($2::"text")
  ORDER BY t."digest" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "table_rows" t USING doomed d WHERE t.project_id = $5 AND t."digest" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "costs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "costs" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "costs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "costs" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "models" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "models" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "models" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "models" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "training_data" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "training_data" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "training_data" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "training_data" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."attributes"), 0) + coalesce(pg_column_size(t."inputs"), 0) + coalesce(pg_column_size(t."output"), 0) + coalesce(pg_column_size(t."summary"), 0) + coalesce(pg_column_size(t."otel_dump"), 0) + coalesce(pg_column_size(t."logged"), 0) + coalesce(pg_column_size(t."own_inputs"), 0) + coalesce(pg_column_size(t."own_output"), 0) + coalesce(pg_column_size(t."usage"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "calls" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "calls" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."attributes"), 0) + coalesce(pg_column_size(t."inputs"), 0) + coalesce(pg_column_size(t."output"), 0) + coalesce(pg_column_size(t."summary"), 0) + coalesce(pg_column_size(t."otel_dump"), 0) + coalesce(pg_column_size(t."logged"), 0) + coalesce(pg_column_size(t."own_inputs"), 0) + coalesce(pg_column_size(t."own_output"), 0) + coalesce(pg_column_size(t."usage"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "calls" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "calls" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."body_sha256"), 0) + coalesce(pg_column_size(t."payload_sha256"), 0) AS erased_bytes
  FROM "trajectory_batches" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "trajectory_batches" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."body_sha256"), 0) + coalesce(pg_column_size(t."payload_sha256"), 0) AS erased_bytes
  FROM "trajectory_batches" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "trajectory_batches" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."display_fields"), 0) AS erased_bytes
  FROM "annotation_queue_items" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "annotation_queue_items" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."display_fields"), 0) AS erased_bytes
  FROM "annotation_queue_items" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "annotation_queue_items" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."document"), 0) AS erased_bytes
  FROM "trajectories" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "trajectories" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."document"), 0) AS erased_bytes
  FROM "trajectories" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "trajectories" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."lease_token_hash"), 0) + coalesce(pg_column_size(t."state"), 0) + coalesce(pg_column_size(t."experimental_config"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "training_jobs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "training_jobs" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."lease_token_hash"), 0) + coalesce(pg_column_size(t."state"), 0) + coalesce(pg_column_size(t."experimental_config"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "training_jobs" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "training_jobs" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."recipe"), 0) + coalesce(pg_column_size(t."counts"), 0) + coalesce(pg_column_size(t."lints"), 0) + coalesce(pg_column_size(t."facts"), 0) AS erased_bytes
  FROM "builds" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  AND (t."id") > ($3::"uuid")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "builds" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."recipe"), 0) + coalesce(pg_column_size(t."counts"), 0) + coalesce(pg_column_size(t."lints"), 0) + coalesce(pg_column_size(t."facts"), 0) AS erased_bytes
  FROM "builds" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"uuid")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "builds" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_refs"), 0) AS erased_bytes
  FROM "annotation_queues" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "annotation_queues" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_refs"), 0) AS erased_bytes
  FROM "annotation_queues" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "annotation_queues" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_tags"), 0) + coalesce(pg_column_size(t."scorer_tag_reasons"), 0) + coalesce(pg_column_size(t."scorer_tag_confidences"), 0) + coalesce(pg_column_size(t."scorer_ratings"), 0) + coalesce(pg_column_size(t."scorer_rating_reasons"), 0) + coalesce(pg_column_size(t."scorer_rating_confidences"), 0) + coalesce(pg_column_size(t."payload"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "feedback" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "feedback" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."scorer_tags"), 0) + coalesce(pg_column_size(t."scorer_tag_reasons"), 0) + coalesce(pg_column_size(t."scorer_tag_confidences"), 0) + coalesce(pg_column_size(t."scorer_ratings"), 0) + coalesce(pg_column_size(t."scorer_rating_reasons"), 0) + coalesce(pg_column_size(t."scorer_rating_confidences"), 0) + coalesce(pg_column_size(t."payload"), 0) + coalesce(pg_column_size(t."event_times"), 0) AS erased_bytes
  FROM "feedback" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "feedback" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."secret"), 0) AS erased_bytes
  FROM "media" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  AND (t."id") > ($3::"text")
  ORDER BY t."id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "media" t USING doomed d WHERE t.project_id = $6 AND t."id" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."id"::text]::text[] AS erased_key, coalesce(pg_column_size(t."secret"), 0) AS erased_bytes
  FROM "media" t
  WHERE t.project_id = $1 AND (t."id") <= ($2::"text")
  ORDER BY t."id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "media" t USING doomed d WHERE t.project_id = $5 AND t."id" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."item_id"::text, t."user_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "annotation_progress" t
  WHERE t.project_id = $1 AND (t."item_id", t."user_id") <= ($2::"text", $3::"text")
  AND (t."item_id", t."user_id") > ($4::"text", $5::"text")
  ORDER BY t."item_id", t."user_id" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "annotation_progress" t USING doomed d WHERE t.project_id = $8 AND t."item_id" = d.erased_key[$9::int]::"text" AND t."user_id" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."item_id"::text, t."user_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "annotation_progress" t
  WHERE t.project_id = $1 AND (t."item_id", t."user_id") <= ($2::"text", $3::"text")
  ORDER BY t."item_id", t."user_id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "annotation_progress" t USING doomed d WHERE t.project_id = $6 AND t."item_id" = d.erased_key[$7::int]::"text" AND t."user_id" = d.erased_key[$8::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."file"::text, t."part"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "checkpoint_parts" t
  WHERE t.project_id = $1 AND (t."job_id", t."file", t."part") <= ($2::"uuid", $3::"text", $4::"int4")
  AND (t."job_id", t."file", t."part") > ($5::"uuid", $6::"text", $7::"int4")
  ORDER BY t."job_id", t."file", t."part" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "checkpoint_parts" t USING doomed d WHERE t.project_id = $10 AND t."job_id" = d.erased_key[$11::int]::"uuid" AND t."file" = d.erased_key[$12::int]::"text" AND t."part" = d.erased_key[$13::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."file"::text, t."part"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "checkpoint_parts" t
  WHERE t.project_id = $1 AND (t."job_id", t."file", t."part") <= ($2::"uuid", $3::"text", $4::"int4")
  ORDER BY t."job_id", t."file", t."part" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "checkpoint_parts" t USING doomed d WHERE t.project_id = $7 AND t."job_id" = d.erased_key[$8::int]::"uuid" AND t."file" = d.erased_key[$9::int]::"text" AND t."part" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."data"), 0) AS erased_bytes
  FROM "training_job_events" t
  WHERE t.project_id = $1 AND (t."job_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."job_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."job_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "training_job_events" t USING doomed d WHERE t.project_id = $8 AND t."job_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."job_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."data"), 0) AS erased_bytes
  FROM "training_job_events" t
  WHERE t.project_id = $1 AND (t."job_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."job_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "training_job_events" t USING doomed d WHERE t.project_id = $6 AND t."job_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."gate"), 0) AS erased_bytes
  FROM "model_alias_moves" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias", t."seq") <= ($2::"uuid", $3::"text", $4::"int4")
  AND (t."model_id", t."alias", t."seq") > ($5::"uuid", $6::"text", $7::"int4")
  ORDER BY t."model_id", t."alias", t."seq" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "model_alias_moves" t USING doomed d WHERE t.project_id = $10 AND t."model_id" = d.erased_key[$11::int]::"uuid" AND t."alias" = d.erased_key[$12::int]::"text" AND t."seq" = d.erased_key[$13::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."gate"), 0) AS erased_bytes
  FROM "model_alias_moves" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias", t."seq") <= ($2::"uuid", $3::"text", $4::"int4")
  ORDER BY t."model_id", t."alias", t."seq" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "model_alias_moves" t USING doomed d WHERE t.project_id = $7 AND t."model_id" = d.erased_key[$8::int]::"uuid" AND t."alias" = d.erased_key[$9::int]::"text" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "model_aliases" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias") <= ($2::"uuid", $3::"text")
  AND (t."model_id", t."alias") > ($4::"uuid", $5::"text")
  ORDER BY t."model_id", t."alias" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "model_aliases" t USING doomed d WHERE t.project_id = $8 AND t."model_id" = d.erased_key[$9::int]::"uuid" AND t."alias" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "model_aliases" t
  WHERE t.project_id = $1 AND (t."model_id", t."alias") <= ($2::"uuid", $3::"text")
  ORDER BY t."model_id", t."alias" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "model_aliases" t USING doomed d WHERE t.project_id = $6 AND t."model_id" = d.erased_key[$7::int]::"uuid" AND t."alias" = d.erased_key[$8::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."step"::text]::text[] AS erased_key, coalesce(pg_column_size(t."metrics"), 0) + coalesce(pg_column_size(t."files"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "checkpoints" t
  WHERE t.project_id = $1 AND (t."model_id", t."step") <= ($2::"uuid", $3::"int4")
  AND (t."model_id", t."step") > ($4::"uuid", $5::"int4")
  ORDER BY t."model_id", t."step" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "checkpoints" t USING doomed d WHERE t.project_id = $8 AND t."model_id" = d.erased_key[$9::int]::"uuid" AND t."step" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."model_id"::text, t."step"::text]::text[] AS erased_key, coalesce(pg_column_size(t."metrics"), 0) + coalesce(pg_column_size(t."files"), 0) + coalesce(pg_column_size(t."config"), 0) AS erased_bytes
  FROM "checkpoints" t
  WHERE t.project_id = $1 AND (t."model_id", t."step") <= ($2::"uuid", $3::"int4")
  ORDER BY t."model_id", t."step" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "checkpoints" t USING doomed d WHERE t.project_id = $6 AND t."model_id" = d.erased_key[$7::int]::"uuid" AND t."step" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."name"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "call_indexes" t
  WHERE t.project_id = $1 AND (t."name") <= ($2::"text")
  AND (t."name") > ($3::"text")
  ORDER BY t."name" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "call_indexes" t USING doomed d WHERE t.project_id = $6 AND t."name" = d.erased_key[$7::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."name"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "call_indexes" t
  WHERE t.project_id = $1 AND (t."name") <= ($2::"text")
  ORDER BY t."name" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "call_indexes" t USING doomed d WHERE t.project_id = $5 AND t."name" = d.erased_key[$6::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_aliases" t
  WHERE t.project_id = $1 AND (t."object_id", t."alias") <= ($2::"text", $3::"text")
  AND (t."object_id", t."alias") > ($4::"text", $5::"text")
  ORDER BY t."object_id", t."alias" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "object_aliases" t USING doomed d WHERE t.project_id = $8 AND t."object_id" = d.erased_key[$9::int]::"text" AND t."alias" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."alias"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_aliases" t
  WHERE t.project_id = $1 AND (t."object_id", t."alias") <= ($2::"text", $3::"text")
  ORDER BY t."object_id", t."alias" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "object_aliases" t USING doomed d WHERE t.project_id = $6 AND t."object_id" = d.erased_key[$7::int]::"text" AND t."alias" = d.erased_key[$8::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."row_digest"::text, t."call_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "dataset_row_sources" t
  WHERE t.project_id = $1 AND (t."object_id", t."row_digest", t."call_id") <= ($2::"text", $3::"text", $4::"text")
  AND (t."object_id", t."row_digest", t."call_id") > ($5::"text", $6::"text", $7::"text")
  ORDER BY t."object_id", t."row_digest", t."call_id" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "dataset_row_sources" t USING doomed d WHERE t.project_id = $10 AND t."object_id" = d.erased_key[$11::int]::"text" AND t."row_digest" = d.erased_key[$12::int]::"text" AND t."call_id" = d.erased_key[$13::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."row_digest"::text, t."call_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "dataset_row_sources" t
  WHERE t.project_id = $1 AND (t."object_id", t."row_digest", t."call_id") <= ($2::"text", $3::"text", $4::"text")
  ORDER BY t."object_id", t."row_digest", t."call_id" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "dataset_row_sources" t USING doomed d WHERE t.project_id = $7 AND t."object_id" = d.erased_key[$8::int]::"text" AND t."row_digest" = d.erased_key[$9::int]::"text" AND t."call_id" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text, t."tag"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_tags" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index", t."tag") <= ($2::"text", $3::"int4", $4::"text")
  AND (t."object_id", t."version_index", t."tag") > ($5::"text", $6::"int4", $7::"text")
  ORDER BY t."object_id", t."version_index", t."tag" LIMIT $8::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $9::bigint
  ), gone AS (
  DELETE FROM "object_tags" t USING doomed d WHERE t.project_id = $10 AND t."object_id" = d.erased_key[$11::int]::"text" AND t."version_index" = d.erased_key[$12::int]::"int4" AND t."tag" = d.erased_key[$13::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text, t."tag"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "object_tags" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index", t."tag") <= ($2::"text", $3::"int4", $4::"text")
  ORDER BY t."object_id", t."version_index", t."tag" LIMIT $5::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $6::bigint
  ), gone AS (
  DELETE FROM "object_tags" t USING doomed d WHERE t.project_id = $7 AND t."object_id" = d.erased_key[$8::int]::"text" AND t."version_index" = d.erased_key[$9::int]::"int4" AND t."tag" = d.erased_key[$10::int]::"text" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "object_versions" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index") <= ($2::"text", $3::"int4")
  AND (t."object_id", t."version_index") > ($4::"text", $5::"int4")
  ORDER BY t."object_id", t."version_index" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "object_versions" t USING doomed d WHERE t.project_id = $8 AND t."object_id" = d.erased_key[$9::int]::"text" AND t."version_index" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."object_id"::text, t."version_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."val"), 0) AS erased_bytes
  FROM "object_versions" t
  WHERE t.project_id = $1 AND (t."object_id", t."version_index") <= ($2::"text", $3::"int4")
  ORDER BY t."object_id", t."version_index" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "object_versions" t USING doomed d WHERE t.project_id = $6 AND t."object_id" = d.erased_key[$7::int]::"text" AND t."version_index" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."process_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "gateway_processes" t
  WHERE t.project_id = $1 AND (t."process_id") <= ($2::"uuid")
  AND (t."process_id") > ($3::"uuid")
  ORDER BY t."process_id" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "gateway_processes" t USING doomed d WHERE t.project_id = $6 AND t."process_id" = d.erased_key[$7::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."process_id"::text]::text[] AS erased_key, 0 AS erased_bytes
  FROM "gateway_processes" t
  WHERE t.project_id = $1 AND (t."process_id") <= ($2::"uuid")
  ORDER BY t."process_id" LIMIT $3::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $4::bigint
  ), gone AS (
  DELETE FROM "gateway_processes" t USING doomed d WHERE t.project_id = $5 AND t."process_id" = d.erased_key[$6::int]::"uuid" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."chunk_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "file_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."chunk_index") <= ($2::"uuid", $3::"int4")
  AND (t."upload_id", t."chunk_index") > ($4::"uuid", $5::"int4")
  ORDER BY t."upload_id", t."chunk_index" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "file_chunks" t USING doomed d WHERE t.project_id = $8 AND t."upload_id" = d.erased_key[$9::int]::"uuid" AND t."chunk_index" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."chunk_index"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "file_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."chunk_index") <= ($2::"uuid", $3::"int4")
  ORDER BY t."upload_id", t."chunk_index" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "file_chunks" t USING doomed d WHERE t.project_id = $6 AND t."upload_id" = d.erased_key[$7::int]::"uuid" AND t."chunk_index" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "checkpoint_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."seq") <= ($2::"uuid", $3::"int4")
  AND (t."upload_id", t."seq") > ($4::"uuid", $5::"int4")
  ORDER BY t."upload_id", t."seq" LIMIT $6::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $7::bigint
  ), gone AS (
  DELETE FROM "checkpoint_chunks" t USING doomed d WHERE t.project_id = $8 AND t."upload_id" = d.erased_key[$9::int]::"uuid" AND t."seq" = d.erased_key[$10::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH next AS MATERIALIZED (
  SELECT ARRAY[t."upload_id"::text, t."seq"::text]::text[] AS erased_key, coalesce(pg_column_size(t."bytes"), 0) AS erased_bytes
  FROM "checkpoint_chunks" t
  WHERE t.project_id = $1 AND (t."upload_id", t."seq") <= ($2::"uuid", $3::"int4")
  ORDER BY t."upload_id", t."seq" LIMIT $4::bigint FOR UPDATE
  ), placed AS (
  SELECT erased_key, erased_bytes, row_number() OVER () AS place FROM next
  ), doomed AS MATERIALIZED (
  SELECT erased_key, place FROM (
  SELECT p.*, sum(erased_bytes) OVER (ORDER BY place) - erased_bytes AS before FROM placed p) p
  WHERE before < $5::bigint
  ), gone AS (
  DELETE FROM "checkpoint_chunks" t USING doomed d WHERE t.project_id = $6 AND t."upload_id" = d.erased_key[$7::int]::"uuid" AND t."seq" = d.erased_key[$8::int]::"int4" RETURNING 1
  )
  SELECT (SELECT count(*) FROM gone)::int AS rows,
  (SELECT d.erased_key FROM doomed d ORDER BY d.place DESC LIMIT 1) AS last;

WITH old AS (
  SELECT c.id FROM calls c
  WHERE c.project_id = $1 AND c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL AND c.id = ANY(ARRAY(
  SELECT id FROM (
  SELECT c.id, row_number() OVER newest AS count, sum(pg_column_size(c.logged)) OVER newest AS bytes
  FROM calls c WHERE c.project_id = $2 AND c.op_name IS NULL AND c.ended_at IS NULL AND c.display_name IS NULL AND c.logged_at IS NOT NULL
  WINDOW newest AS (ORDER BY c.logged_at DESC, c.id DESC)) a
  WHERE a.count > $3::int OR a.bytes > $4::bigint))
  ORDER BY c.id FOR UPDATE SKIP LOCKED)
  DELETE FROM calls c WHERE c.project_id = $5 AND c.id = ANY(ARRAY(SELECT id FROM old));

WITH own AS (SELECT id, revoked_at, expires_at FROM api_keys WHERE split_part(scopes[1], '/', 1) = $1),
  gone AS (DELETE FROM api_keys WHERE id IN (
  SELECT id FROM own WHERE least(revoked_at, expires_at) <= now()
  ORDER BY least(revoked_at, expires_at), id
  LIMIT greatest(0, (SELECT count(*) FROM own) - $2::bigint)) RETURNING 1)
  SELECT ((SELECT count(*) FROM own) - (SELECT count(*) FROM gone))::int AS count;

WITH tags AS (
  DELETE FROM object_tags
  WHERE project_id = $1 AND object_id = $2 AND version_index = ANY($3::int[])
  )
  DELETE FROM object_aliases
  WHERE project_id = $4 AND object_id = $5 AND version_index = ANY($6::int[]);

WITH taken AS (
  DELETE FROM call_slot_marks WHERE project_id = $1 AND slot = ANY(ARRAY(
  (SELECT DISTINCT m.slot FROM call_slot_marks m WHERE m.project_id = $2 AND m.slot < now() - interval '5 minutes'
  ORDER BY m.slot LIMIT $3::bigint)
  UNION ALL
  (SELECT m.slot FROM call_slot_marks m WHERE m.project_id = $4 AND m.slot >= now() - interval '5 minutes'
  GROUP BY m.slot HAVING count(*) > 1 OR sum(m.call_count) <> 0)))
  RETURNING slot, call_count, made_at, parent_ids, response_ids)
  SELECT slot::text AS slot, sum(call_count)::text AS calls, max(made_at)::text AS made_at, slot >= now() - interval '5 minutes' AS is_open,
  json_build_object('parents', coalesce(json_agg(parent_ids) FILTER (WHERE parent_ids IS NOT NULL), '[]'),
  'responses', coalesce(json_agg(response_ids) FILTER (WHERE response_ids IS NOT NULL), '[]')) AS names
  FROM taken GROUP BY taken.slot ORDER BY taken.slot;

WITH taken AS (
  DELETE FROM project_marks WHERE project_id = $1 AND id IN (
  SELECT id FROM project_marks WHERE project_id = $2 ORDER BY id LIMIT $3::bigint)
  RETURNING row_count, call_count, bytes, made_at)
  SELECT count(*)::int AS taken, sum(row_count)::text AS row_count, sum(call_count)::text AS call_count,
  sum(bytes)::text AS bytes, max(made_at)::text AS made_at FROM taken;

WITH taken AS (
  DELETE FROM thread_marks WHERE project_id = $1 AND ctid = ANY(ARRAY(
  SELECT ctid FROM thread_marks WHERE project_id = $2 ORDER BY thread_id LIMIT $3::bigint))
  RETURNING thread_id)
  SELECT count(*)::int AS taken, coalesce(array_agg(DISTINCT thread_id), '{}') AS threads FROM taken;

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
