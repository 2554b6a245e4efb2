-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- advisory-locks:lock
SELECT pg_advisory_xact_lock($1::bigint);

SELECT pg_advisory_xact_lock($1::int, hashtext($2));

SELECT pg_advisory_xact_lock(hashtextextended($1, $2::bigint));

-- advisory-locks:lockShared
SELECT pg_advisory_xact_lock_shared($1::int, hashtext($2));

SELECT pg_advisory_xact_lock_shared(hashtextextended($1, $2::bigint));

-- advisory-locks:tryLock
SELECT pg_try_advisory_xact_lock($1::bigint) AS is_mine;

SELECT pg_try_advisory_xact_lock($1::int, hashtext($2)) AS is_mine;

-- advisory-locks:trySessionLock
SELECT pg_try_advisory_lock($1::bigint) AS is_mine;

-- changes:notifyChanges
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, notice)
  FROM unnest($2::text[]) AS n(notice);

-- marks-refresher:nextMarked
SELECT m.project_id FROM call_slot_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM call_text_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM project_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM thread_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

SELECT m.project_id FROM trial_marks m WHERE m.project_id > $1 ORDER BY m.project_id LIMIT 1;

-- staged-uploads:StagedUploads.sweep
SELECT project_id, id FROM uploads WHERE touched_at < now() - interval '1 hour' LIMIT 100;

-- staged-uploads:StagedUpload.touched
INSERT INTO uploads (project_id, id) VALUES ($1, $2) RETURNING 1;

-- staged-uploads:StagedUpload.end
DELETE FROM uploads WHERE project_id = $1 AND id = $2 RETURNING 1;

-- staged-uploads:StagedUpload.removeParts
DELETE FROM "body_chunks" WHERE project_id = $1 AND "batch_id" = $2;

DELETE FROM "checkpoint_chunks" WHERE project_id = $1 AND "upload_id" = $2;

DELETE FROM "dataset_import_rows" WHERE project_id = $1 AND "upload_id" = $2;

DELETE FROM "file_chunks" WHERE project_id = $1 AND "upload_id" = $2;

DELETE FROM "trajectories" WHERE project_id = $1 AND "batch_id" = $2;
