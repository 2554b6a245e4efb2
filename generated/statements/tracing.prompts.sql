-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.

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
