-- Returns the known messages with the new ones, each once. Returns only the known ones if none is new, or if all
-- together are over a limit.
CREATE OR REPLACE FUNCTION skein_logged(known jsonb, coming jsonb, max_count integer, max_bytes integer) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN known IS NULL THEN coming
    WHEN u.count = jsonb_array_length(known) OR u.count > max_count OR u.bytes > max_bytes THEN known
    ELSE u.said END
  FROM (
    SELECT jsonb_agg(e) AS said, count(*) AS count, sum(octet_length(e ->> 'value')) AS bytes
    FROM (SELECT DISTINCT e FROM jsonb_array_elements(known || coming) e) e) u
$$;

-- Returns a document with the members that log records of the trace add. Members of the document itself are not
-- changed. An added member is the list of its parts, ordered by time. If records hold the whole member, it is the value
-- of the last record.
CREATE OR REPLACE FUNCTION skein_with_logged(own json, logged jsonb, trace text, side text) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  WITH own_keys AS (
    SELECT json_object_keys(CASE WHEN json_typeof(own) = 'object' THEN skein_safe_json(own) ELSE '{}' END) AS key
  ), said AS (
    SELECT l.member, l.is_part,
      CASE WHEN l.is_part
        THEN '[' || string_agg(l.value, ',' ORDER BY l.at, l.place, l.value) || ']'
        ELSE (array_agg(l.value ORDER BY l.at DESC, l.place DESC, l.value DESC))[1] END AS value
    FROM jsonb_to_recordset(logged) AS l (
      trace_id text, side text, member text COLLATE "C", is_part boolean, at text COLLATE "C", place int, value text COLLATE "C")
    WHERE l.trace_id = $3 AND l.side = $4
    GROUP BY l.member, l.is_part
  ), added AS (
    SELECT string_agg(to_json(m.member)::text || ':' || m.value, ',' ORDER BY m.member) AS members
    FROM (SELECT DISTINCT ON (member) member, value FROM said ORDER BY member, is_part) m
    WHERE m.member NOT IN (SELECT key FROM own_keys)
  )
  SELECT CASE
    WHEN added.members IS NULL OR json_typeof(own) <> 'object' THEN own
    ELSE (coalesce(left(rtrim(own::text, E' \t\r\n'), -1), '{')
      || CASE WHEN EXISTS (SELECT FROM own_keys) THEN ',' ELSE '' END || added.members || '}')::json END
  FROM added
$$;
