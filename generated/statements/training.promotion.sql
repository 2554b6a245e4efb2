-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- aliases.query:aliasLock
SELECT step FROM model_aliases WHERE project_id = $1 AND model_id = $2 AND alias = $3 FOR UPDATE;

-- aliases.query:moveInsert
INSERT INTO model_alias_moves (project_id, model_id, alias, seq, step, previous_step, moved_at, moved_by, by_hand, gate, reason)
  SELECT $1, $2::uuid, $3,
  1 + coalesce((SELECT max(seq) FROM model_alias_moves WHERE project_id = $4 AND model_id = $5 AND alias = $6), 0),
  $7::int, $8::int, statement_timestamp(), $9, $10::boolean, $11::json, $12
  RETURNING seq;

-- aliases.query:aliasSet
INSERT INTO model_aliases (project_id, model_id, alias, step, seq)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (project_id, model_id, alias) DO UPDATE SET step = excluded.step, seq = excluded.seq;

-- aliases.query:aliasesRetire
DELETE FROM model_aliases
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) RETURNING alias, step;

-- aliases.query:aliasesOfSteps
SELECT alias, step FROM model_aliases
  WHERE project_id = $1 AND model_id = $2 AND step = ANY($3::int[]) ORDER BY alias;

-- aliases.query:aliasesList
SELECT json_build_object('alias', a.alias, 'step', a.step, 'moved_at', to_char(m.moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  'moved_by', m.moved_by, 'by_hand', m.by_hand)::text AS json
  FROM model_aliases a
  JOIN model_alias_moves m ON m.project_id = $1 AND m.model_id = a.model_id AND m.alias = a.alias AND m.seq = a.seq
  WHERE a.project_id = $2 AND a.model_id = $3 ORDER BY a.alias;

-- aliases.query:movesList
SELECT json_build_object('alias', alias, 'step', step, 'previous_step', previous_step,
  'moved_at', to_char(moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'moved_by', moved_by, 'by_hand', by_hand, 'gate', gate, 'reason', reason)::text AS json
  FROM model_alias_moves WHERE project_id = $1 AND model_id = $2
  ORDER BY moved_at DESC, seq DESC, alias LIMIT $3;

-- gates.query:sideQuery
SELECT c.digest, min(c.key) AS key, count(*)::int AS calls, count(c.score)::int AS scored,
  round(avg(c.score), 20)::float8 AS mean
  FROM (
  SELECT CASE WHEN num_nonnulls(c.keys[$1::int]) > 0 THEN coalesce(skein_content_sha256(c.keys[$2::int]), '-') END AS digest, left(c.keys[$3::int], $4::int) AS key,
  CASE WHEN abs(CASE c.score WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE skein_number(c.score) END) <= 1e100 THEN CASE c.score WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE skein_number(c.score) END END AS score
  FROM (
  SELECT ARRAY[(CASE WHEN c.is_opaque THEN skein_safe_json(c."inputs") ELSE c."inputs" END #>> $5::text[])::text]::text[] AS keys, (SELECT (CASE WHEN f.is_opaque THEN skein_safe_json(f.payload) ELSE f.payload END #>> $6::text[]) FROM feedback f WHERE f.project_id = $7 AND f.ref IN ($8::text || c.id, $9::text || c.id) AND (f.feedback_type = ANY($10::text[]))
  ORDER BY f.created_at DESC, f.id DESC LIMIT 1)::text AS score FROM calls c
  WHERE c.project_id = $11 AND c.op_name IS NOT NULL AND c.deleted_at IS NULL AND
  CASE WHEN (CASE WHEN c.is_opaque THEN skein_safe_json(c.summary) ELSE c.summary END #> $12::text[]) IS NOT NULL THEN TRUE
  ELSE coalesce((CASE WHEN c.is_opaque THEN skein_safe_json(c.inputs) ELSE c.inputs END #>> $13::text[]) = $14, FALSE) END AND TRUE
  ORDER BY c.started_at DESC, c.id LIMIT $15) c) c
  GROUP BY c.digest;

-- gates.query:checkpointShare
SELECT tainted_at IS NOT NULL AS is_tainted FROM checkpoints
  WHERE project_id = $1 AND model_id = $2 AND step = $3 FOR SHARE;

-- model-alias-move.entity
DELETE FROM "model_alias_moves" WHERE ("project_id" = $1 AND "model_id" = $2);

-- model-alias.entity
DELETE FROM "model_aliases" WHERE ("project_id" = $1 AND "model_id" = $2);

SELECT "ModelAlias"."project_id" AS "ModelAlias_project_id", "ModelAlias"."model_id" AS "ModelAlias_model_id", "ModelAlias"."alias" AS "ModelAlias_alias", "ModelAlias"."step" AS "ModelAlias_step", "ModelAlias"."seq" AS "ModelAlias_seq" FROM "model_aliases" "ModelAlias" WHERE (("ModelAlias"."project_id" = $1) AND ("ModelAlias"."model_id" = $2) AND ("ModelAlias"."alias" = $3)) LIMIT 1;
