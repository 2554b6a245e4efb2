-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

-- objects-erasing.query:allVersions
SELECT v.version_index FROM object_versions v WHERE v.project_id = $1 AND v.object_id = $2;

-- objects-erasing.query:lastDigests
SELECT DISTINCT v.digest FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.version_index = ANY($3::int[])
  AND NOT EXISTS (SELECT FROM object_versions o WHERE o.project_id = $4 AND o.object_id = $5
  AND o.digest = v.digest AND o.version_index <> ALL($6::int[]));

-- objects-erasing.query:versionsErase
DELETE FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.version_index = ANY($3::int[]) RETURNING 1;

-- files.query:insertSmallFileQuery
WITH file AS (
  INSERT INTO files (project_id, digest, upload_id, size_bytes)
  VALUES ($1, $2, $3::uuid, $4::int)
  ON CONFLICT DO NOTHING RETURNING upload_id)
  INSERT INTO file_chunks (project_id, upload_id, chunk_index, bytes)
  SELECT $5, upload_id, 0, $6::bytea FROM file;

-- files.query:fileQuery
SELECT f.upload_id, f.size_bytes, c.bytes FROM files f
  LEFT JOIN file_chunks c ON c.project_id = f.project_id AND c.upload_id = f.upload_id AND c.chunk_index = 0
  WHERE f.project_id = $1 AND f.digest = $2;

-- labels.query:tagsInsert
INSERT INTO object_tags (project_id, object_id, version_index, tag)
  SELECT DISTINCT $1, $2, $3::int, t.tag FROM unnest($4::text[]) AS t (tag)
  ON CONFLICT DO NOTHING;

-- labels.query:aliasesUpsert
INSERT INTO object_aliases (project_id, object_id, alias, version_index)
  SELECT DISTINCT $1, $2, t.alias, $3::int FROM unnest($4::text[]) AS t (alias)
  ON CONFLICT (project_id, object_id, alias) DO UPDATE SET version_index = excluded.version_index;

-- labels.query:labelsDelete
WITH tags AS (
  DELETE FROM object_tags
  WHERE project_id = $1 AND object_id = $2 AND version_index = ANY($3::int[])
  )
  DELETE FROM object_aliases
  WHERE project_id = $4 AND object_id = $5 AND version_index = ANY($6::int[]);

-- labels.query:namesQuery
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

-- object-alias.entity
DELETE FROM "object_aliases" WHERE ("project_id" = $1 AND "object_id" = $2 AND "alias" = ANY($3));

SELECT COUNT(1) AS "cnt" FROM "object_aliases" "ObjectAlias" WHERE (("ObjectAlias"."project_id" = $1) AND ("ObjectAlias"."object_id" = $2));

-- object-tag.entity
DELETE FROM "object_tags" WHERE ("project_id" = $1 AND "object_id" = $2 AND "version_index" = $3 AND "tag" = ANY($4));

SELECT COUNT(1) AS "cnt" FROM "object_tags" "ObjectTag" WHERE (("ObjectTag"."project_id" = $1) AND ("ObjectTag"."object_id" = $2) AND ("ObjectTag"."version_index" = $3));

-- object-version.entity
SELECT 1 AS "row_exists" FROM (SELECT 1 AS dummy_column) "dummy_table" WHERE EXISTS (SELECT 1 FROM "object_versions" "ObjectVersion" WHERE (("ObjectVersion"."project_id" = $1) AND ("ObjectVersion"."object_id" = $2) AND ("ObjectVersion"."is_latest" = $3))) LIMIT 1;

-- objects.query:objectsQuery
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

-- objects.query:part
SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM unnest($1::text[], $2::text[]) AS r (object_id, word) JOIN object_versions v ON v.project_id = $3 AND v.object_id = r.object_id AND v.deleted_at IS NULL AND v.digest = r.word UNION ALL SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM unnest($4::text[], $5::text[]) AS r (object_id, word) JOIN object_versions v ON v.project_id = $6 AND v.object_id = r.object_id AND v.deleted_at IS NULL AND v.version_index = substr(r.word, 2)::int UNION ALL SELECT r.object_id, r.word, v.version_index, v.size_bytes FROM unnest($7::text[], $8::text[]) AS r (object_id, word) JOIN object_versions v ON v.project_id = $9 AND v.object_id = r.object_id AND v.deleted_at IS NULL AND v.is_latest;

-- objects.query:versionQuery
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

-- objects.query:smallValueQuery
SELECT CASE WHEN v.size_bytes <= $1 THEN v.val::text END AS val FROM object_versions v
  WHERE v.project_id = $2 AND v.object_id = $3 AND v.deleted_at IS NULL AND v.digest = $4;

SELECT CASE WHEN v.size_bytes <= $1 THEN v.val::text END AS val FROM object_versions v
  WHERE v.project_id = $2 AND v.object_id = $3 AND v.deleted_at IS NULL AND v.is_latest;

-- objects.query:latestIndexQuery
SELECT v.version_index FROM object_versions v
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.is_latest AND v.digest = $3;

-- objects.query:demoteQuery
UPDATE object_versions v SET is_latest = false WHERE v.project_id = $1 AND v.object_id = $2 AND v.is_latest;

-- objects.query:publishQuery
INSERT INTO object_versions AS v (project_id, object_id, version_index, digest, created_at, is_latest, kind,
  base_object_class, leaf_object_class, user_id, size_bytes, val)
  SELECT $1, $2,
  coalesce((SELECT max(v.version_index) FROM object_versions v WHERE v.project_id = $3 AND v.object_id = $4) + 1, 0),
  $5, statement_timestamp(), true, $6, $7,
  $8, $9, $10::int, $11::json
  ON CONFLICT (project_id, object_id, digest) WHERE deleted_at IS NULL DO UPDATE SET is_latest = true
  RETURNING v.version_index;

-- objects.query:deleteQuery
UPDATE object_versions v SET deleted_at = statement_timestamp(), is_latest = false
  WHERE v.project_id = $1 AND v.object_id = $2 AND v.deleted_at IS NULL
  AND TRUE
  RETURNING v.version_index;

-- objects.query:promoteQuery
UPDATE object_versions SET is_latest = true
  WHERE project_id = $1 AND object_id = $2 AND version_index = (
  SELECT v.version_index FROM object_versions v
  WHERE v.project_id = $3 AND v.object_id = $4 AND v.deleted_at IS NULL
  AND NOT EXISTS (SELECT FROM object_versions v WHERE v.project_id = $5 AND v.object_id = $6 AND v.is_latest)
  ORDER BY v.version_index DESC LIMIT 1);

-- objects.query:valuesQuery
SELECT v.object_id, v.version_index, v.val::text AS val
  FROM unnest($1::text[], $2::int[]) AS r(object_id, version_index)
  JOIN object_versions v ON v.project_id = $3 AND v.object_id = r.object_id
  AND v.version_index = r.version_index;

-- prompts.query:promptQuery
SELECT v.version_index, v.digest, v.leaf_object_class, v.is_latest, to_char(v.created_at AT TIME ZONE 'UTC', $1) AS created_at, v.user_id,
  CASE WHEN v.size_bytes <= $2::int THEN v.val::text END AS val,
  ARRAY(SELECT a.alias FROM object_aliases a WHERE a.project_id = $3 AND a.object_id = $4
  AND a.version_index = v.version_index ORDER BY a.alias) AS aliases,
  ARRAY(SELECT t.tag FROM object_versions n JOIN object_tags t
  ON t.project_id = $5 AND t.object_id = n.object_id AND t.version_index = n.version_index
  WHERE n.project_id = $6 AND n.object_id = v.object_id AND n.is_latest ORDER BY t.tag) AS tags
  FROM object_versions v
  WHERE v.project_id = $7 AND v.object_id = $8 AND v.deleted_at IS NULL AND v.base_object_class = 'Prompt'
  AND v.is_latest;

SELECT v.version_index, v.digest, v.leaf_object_class, v.is_latest, to_char(v.created_at AT TIME ZONE 'UTC', $1) AS created_at, v.user_id,
  CASE WHEN v.size_bytes <= $2::int THEN v.val::text END AS val,
  ARRAY(SELECT a.alias FROM object_aliases a WHERE a.project_id = $3 AND a.object_id = $4
  AND a.version_index = v.version_index ORDER BY a.alias) AS aliases,
  ARRAY(SELECT t.tag FROM object_versions n JOIN object_tags t
  ON t.project_id = $5 AND t.object_id = n.object_id AND t.version_index = n.version_index
  WHERE n.project_id = $6 AND n.object_id = v.object_id AND n.is_latest ORDER BY t.tag) AS tags
  FROM object_versions v
  WHERE v.project_id = $7 AND v.object_id = $8 AND v.deleted_at IS NULL AND v.base_object_class = 'Prompt'
  AND v.version_index = $9;

SELECT v.version_index, v.digest, v.leaf_object_class, v.is_latest, to_char(v.created_at AT TIME ZONE 'UTC', $1) AS created_at, v.user_id,
  CASE WHEN v.size_bytes <= $2::int THEN v.val::text END AS val,
  ARRAY(SELECT a.alias FROM object_aliases a WHERE a.project_id = $3 AND a.object_id = $4
  AND a.version_index = v.version_index ORDER BY a.alias) AS aliases,
  ARRAY(SELECT t.tag FROM object_versions n JOIN object_tags t
  ON t.project_id = $5 AND t.object_id = n.object_id AND t.version_index = n.version_index
  WHERE n.project_id = $6 AND n.object_id = v.object_id AND n.is_latest ORDER BY t.tag) AS tags
  FROM object_versions v
  WHERE v.project_id = $7 AND v.object_id = $8 AND v.deleted_at IS NULL AND v.base_object_class = 'Prompt'
  AND v.version_index = (SELECT a.version_index FROM object_aliases a
  WHERE a.project_id = $9 AND a.object_id = $10 AND a.alias = $11);

-- prompts.query:latestQuery
SELECT v.digest,
  ARRAY(SELECT t.tag FROM object_versions n JOIN object_tags t
  ON t.project_id = $1 AND t.object_id = n.object_id AND t.version_index = n.version_index
  WHERE n.project_id = $2 AND n.object_id = v.object_id AND n.is_latest ORDER BY t.tag) AS tags FROM object_versions v
  WHERE v.project_id = $3 AND v.object_id = $4 AND v.is_latest;

-- prompts.query:nextVersionQuery
SELECT coalesce(max(v.version_index) + 1, 0) AS next, coalesce(bool_or(v.is_latest), false) AS is_live,
  max(v.leaf_object_class) FILTER (WHERE v.is_latest) AS class
  FROM object_versions v WHERE v.project_id = $1 AND v.object_id = $2;

-- prompts.query:promptsQuery
SELECT p.object_id, p.versions, to_char(p.updated_at AT TIME ZONE 'UTC', $1) AS updated_at, v.leaf_object_class, p.is_latest,
  ARRAY(SELECT a.alias FROM object_aliases a WHERE a.project_id = $2 AND a.object_id = p.object_id
  AND a.version_index = ANY(p.versions) ORDER BY a.alias) AS aliases,
  ARRAY(SELECT t.tag FROM object_versions n JOIN object_tags t
  ON t.project_id = $3 AND t.object_id = n.object_id AND t.version_index = n.version_index
  WHERE n.project_id = $4 AND n.object_id = p.object_id AND n.is_latest ORDER BY t.tag) AS tags
  FROM (
  SELECT v.object_id, array_agg(v.version_index ORDER BY v.version_index DESC) AS versions,
  max(v.created_at) AS updated_at, bool_or(v.is_latest) AS is_latest
  FROM object_versions v WHERE v.project_id = $5 AND v.deleted_at IS NULL AND v.base_object_class = 'Prompt'
  GROUP BY v.object_id ORDER BY v.object_id LIMIT $6::bigint OFFSET $7::bigint) p
  JOIN object_versions v ON v.project_id = $8 AND v.object_id = p.object_id
  AND v.version_index = p.versions[1]
  ORDER BY p.object_id;

-- prompts.query:promptCountQuery
SELECT count(DISTINCT v.object_id)::int AS total FROM object_versions v WHERE v.project_id = $1 AND v.deleted_at IS NULL AND v.base_object_class = 'Prompt';

-- prompts.query:promptsWith
SELECT v.object_id FROM object_versions v
  WHERE v.project_id = $1 AND v.deleted_at IS NULL AND v.base_object_class = 'Prompt' AND v.object_id <> $2
  AND v.size_bytes <= $3::int
  AND EXISTS (SELECT FROM unnest($4::text[]) AS t (text) WHERE strpos(v.val::text, t.text) > 0)
  LIMIT 1;

-- tables.query:insertRowsQuery
INSERT INTO table_rows (project_id, digest, is_opaque, val)
  SELECT $1, r.digest, r.is_opaque, r.val::json
  FROM unnest($2::text[], $3::boolean[],
  $4::text[]) AS r(digest, is_opaque, val)
  ON CONFLICT DO NOTHING;

-- tables.query:insertTableQuery
INSERT INTO tables (project_id, digest, row_digests) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING;

-- tables.query:unknownRowQuery
SELECT d.digest FROM unnest($1::text[]) AS d(digest)
  WHERE NOT EXISTS (SELECT FROM table_rows r WHERE r.project_id = $2 AND r.digest = d.digest) LIMIT 1;

-- tables.query:rowDigestsQuery
SELECT t.row_digests FROM tables t WHERE t.project_id = $1 AND t.digest = $2;

-- tables.query:tableRowsQuery
SELECT (
  SELECT row_to_json(o)::text FROM (
  SELECT r.digest, r.val, p.n AS original_index FROM table_rows r
  WHERE r.project_id = $1 AND r.digest = p.digest) o) FROM (
  SELECT p.n, convert_from(substring(p.row_digests FROM p.n * $2::int + 1 FOR $3::int), 'UTF8') AS digest
  FROM (
  SELECT t.row_digests, generate_series($4::bigint, least($5::bigint, octet_length(t.row_digests) / $6::int) - 1)::int AS n
  FROM tables t WHERE t.project_id = $7 AND t.digest = $8) p) p; -- a list

-- tables.query:tableStatsQuery
SELECT octet_length(t.row_digests) / $1::int AS count, t.digest, NULL AS storage_size_bytes
  FROM tables t WHERE t.project_id = $2 AND t.digest = ANY($3);
