-- What a value of a document stands for: the value of the object, of the same project, that a ref names by its digest; or itself. An object over 1 MiB is
-- taken for missing: a value of 30 MiB takes PostgreSQL 60 to 120 MB, for each field that is asked for.
CREATE OR REPLACE FUNCTION skein_behind(project text, value json) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
  named text[];
  found json;
BEGIN
  IF json_typeof(value) IS DISTINCT FROM 'string' OR octet_length(value::text) > 2048 THEN
    RETURN value;
  END IF;
  named := regexp_match(value #>> '{}', '^(?:svc|weave):///([^/]+/[^/]+)/(?:object|op)/([^/:]+):([^/:]+)$');
  IF named IS NULL OR named[1] <> project THEN
    RETURN value;
  END IF;
  SELECT v.val INTO found FROM object_versions v
    WHERE v.project_id = project AND v.object_id = named[2] AND v.digest = named[3] AND v.deleted_at IS NULL
      AND v.size_bytes <= 1048576
    ORDER BY v.version_index LIMIT 1;
  RETURN CASE WHEN found::text ~ '\\u(0000|[dD][89a-fA-F])' THEN skein_safe_json(found) ELSE found END;
END
$$;
