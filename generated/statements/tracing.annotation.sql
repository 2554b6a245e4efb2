-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- annotation-items.query:itemsQuery
SELECT row_to_json(o)::text FROM (
  SELECT i.id AS "id", i.project_id AS "project_id", i.queue_id AS "queue_id", i.call_id AS "call_id", to_char(i.call_started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_started_at", to_char(i.call_ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_ended_at", i.call_op_name AS "call_op_name", i.call_trace_id AS "call_trace_id", i.display_fields AS "display_fields", i.created_by AS "added_by", i.annotation_state AS "annotation_state", i.annotator_user_id AS "annotator_user_id", to_char(i.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", i.created_by AS "created_by", to_char(i.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(NULL::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at" FROM annotation_queue_items i WHERE i.project_id = $1 AND i.queue_id = $2 ORDER BY i.position ASC NULLS LAST, i.id COLLATE "C" ASC NULLS LAST LIMIT $3::bigint OFFSET $4::bigint) o; -- a list

-- annotation-items.query:itemQuery
SELECT row_to_json(o)::text AS json FROM (
  SELECT i.id AS "id", i.project_id AS "project_id", i.queue_id AS "queue_id", i.call_id AS "call_id", to_char(i.call_started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_started_at", to_char(i.call_ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "call_ended_at", i.call_op_name AS "call_op_name", i.call_trace_id AS "call_trace_id", i.display_fields AS "display_fields", i.created_by AS "added_by", i.annotation_state AS "annotation_state", i.annotator_user_id AS "annotator_user_id", to_char(i.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", i.created_by AS "created_by", to_char(i.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(NULL::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at", i.position AS "position_in_queue" FROM annotation_queue_items i
  WHERE i.project_id = $1 AND i.id = $2) o;

-- annotation-items.query:stateQuery
SELECT i.annotation_state AS state, (SELECT p.state FROM annotation_progress p
  WHERE p.project_id = $1 AND p.item_id = i.id AND p.user_id = $2) AS mine
  FROM annotation_queue_items i WHERE i.project_id = $3 AND i.queue_id = $4 AND i.id = $5;

-- annotation-items.query:stateUpdate
UPDATE annotation_queue_items SET annotation_state = $1, annotator_user_id = $2, updated_at = now()
  WHERE project_id = $3 AND id = $4;

-- annotation-items.query:firstIn
SELECT i.id FROM annotation_queue_items i
  WHERE i.project_id = $1 AND i.queue_id = $2 AND i.annotation_state = $3
  ORDER BY i.position, i.id LIMIT 1;

SELECT i.id FROM annotation_queue_items i
  WHERE i.project_id = $1 AND i.queue_id = $2 AND i.annotation_state = $3 AND i.annotator_user_id = $4
  ORDER BY i.position, i.id LIMIT 1;

-- annotation-items.query:itemsThere
SELECT count(*)::int AS count FROM unnest($1::text[]) t (id) CROSS JOIN LATERAL (SELECT 1 FROM annotation_queue_items i WHERE i.project_id = $2 AND i.queue_id = $3 AND i.call_id = t.id OFFSET 0) "i";

-- annotation-items.query:itemsInsert
INSERT INTO annotation_queue_items (project_id, id, queue_id, position, call_id, call_started_at, call_ended_at,
  call_op_name, call_trace_id, display_fields, created_by)
  SELECT $1, t.item_id, $2, $3::int + row_number() OVER (ORDER BY t.n)::int,
  c.id, c.started_at, c.ended_at, c.op_name, c.trace_id, $4::json, $5
  FROM unnest($6::text[], $7::text[]) WITH ORDINALITY t (id, item_id, n)
  CROSS JOIN LATERAL (SELECT c.id, c.started_at, c.ended_at, c.op_name, c.trace_id FROM calls c
  WHERE c.project_id = $8 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND c.id = t.id AND NOT EXISTS (
  SELECT FROM annotation_queue_items i WHERE i.project_id = $9 AND i.queue_id = $10 AND i.call_id = t.id) OFFSET 0) "c"
  RETURNING 1;

-- annotation-progress.entity
INSERT INTO "annotation_progress"("project_id", "item_id", "user_id", "state", "updated_at") VALUES ($1, $2, $3, $4, now()) ON CONFLICT ( "project_id", "item_id", "user_id" ) DO UPDATE SET "project_id" = EXCLUDED."project_id", "item_id" = EXCLUDED."item_id", "user_id" = EXCLUDED."user_id", "state" = EXCLUDED."state", "updated_at" = EXCLUDED."updated_at" RETURNING "updated_at";

-- annotation-queue.entity
INSERT INTO "annotation_queues"("project_id", "id", "name", "description", "scorer_refs", "total_items", "completed_items", "created_by", "created_at", "updated_at", "deleted_at") VALUES ($1, $2, $3, $4, $5, DEFAULT, DEFAULT, $6, DEFAULT, DEFAULT, DEFAULT) RETURNING "total_items", "completed_items", "created_at", "updated_at";

SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "annotation_queues" "AnnotationQueue" WHERE (("AnnotationQueue"."project_id" = $1) AND ("AnnotationQueue"."id" = $2) AND ("AnnotationQueue"."deleted_at" IS NULL))) LIMIT 1;

UPDATE "annotation_queues" SET "deleted_at" = now() WHERE ("project_id" = $1 AND "id" = $2);

UPDATE "annotation_queues" SET "description" = $1, "updated_at" = now() WHERE ("project_id" = $2 AND "id" = $3);

-- annotation-queues.query:queuesQuery
SELECT row_to_json(o)::text FROM (
  SELECT q.id AS "id", q.project_id AS "project_id", q.name AS "name", q.description AS "description", q.scorer_refs AS "scorer_refs", to_char(q.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", q.created_by AS "created_by", to_char(q.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(q.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at" FROM annotation_queues q
  WHERE q.project_id = $1 AND q.deleted_at IS NULL
  ORDER BY q.created_at DESC, q.id COLLATE "C" ASC NULLS LAST LIMIT $2::bigint OFFSET $3::bigint) o; -- a list

-- annotation-queues.query:queueQuery
SELECT row_to_json(o)::text AS json FROM (
  SELECT q.id AS "id", q.project_id AS "project_id", q.name AS "name", q.description AS "description", q.scorer_refs AS "scorer_refs", to_char(q.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "created_at", q.created_by AS "created_by", to_char(q.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updated_at", to_char(q.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deleted_at" FROM annotation_queues q
  WHERE q.project_id = $1 AND q.id = $2) o;

-- annotation-queues.query:queueLock
SELECT q.total_items FROM annotation_queues q WHERE q.project_id = $1 AND q.deleted_at IS NULL AND q.id = $2 FOR UPDATE;

-- annotation-queues.query:queueCount
SELECT count(*)::int AS count FROM annotation_queues q WHERE q.project_id = $1 AND q.deleted_at IS NULL;

-- annotation-queues.query:addedCountUpdate
UPDATE annotation_queues SET total_items = total_items + $1::int
  WHERE project_id = $2 AND id = $3;

-- annotation-queues.query:completedCountUpdate
UPDATE annotation_queues SET completed_items = completed_items + 1
  WHERE project_id = $1 AND id = $2;

-- annotation-queues.query:statsQuery
SELECT q.id AS queue_id, q.total_items, q.completed_items FROM annotation_queues q
  WHERE q.project_id = $1 AND q.deleted_at IS NULL AND q.id IN (SELECT unnest($2::text[]));
