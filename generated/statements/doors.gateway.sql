-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- budgets.query:oldUsesDelete
DELETE FROM gateway_uses WHERE day < (now() AT TIME ZONE 'UTC')::date - 90;

-- processes.query:processInsert
INSERT INTO gateway_processes (project_id, process_id, began_at, seen_at)
  VALUES ($1, $2::uuid, $3, now())
  ON CONFLICT (project_id, process_id) DO UPDATE SET seen_at = excluded.seen_at;

-- processes.query:processSeen
UPDATE gateway_processes SET seen_at = now()
  WHERE project_id = ANY($1::text[]) AND process_id = $2::uuid RETURNING project_id;

-- processes.query:lostProcesses
SELECT project_id, process_id::text FROM gateway_processes WHERE seen_at < now() - interval '20 seconds'
  ORDER BY project_id, process_id LIMIT $1;
