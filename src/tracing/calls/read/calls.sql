-- A document without the member of a name: answers derive a member of that name, and an object has each name once. Values
-- keep their spelling. A document without the name costs a search in its text.
CREATE OR REPLACE FUNCTION skein_without(document json, name text) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN strpos(document::text, to_json(name)::text) = 0 THEN document ELSE (
    SELECT ('{' || coalesce(string_agg(to_json(key)::text || ':' || value::text, ',' ORDER BY n), '') || '}')::json
    FROM json_each(document) WITH ORDINALITY AS member (key, value, n) WHERE key <> name) END
$$;

-- The members of the object that a document has under a name, but for some.
CREATE OR REPLACE FUNCTION skein_members(document json, name text, others text[]) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN strpos(document::text, to_json(name)::text) > 0 AND json_typeof(document -> name) = 'object' THEN (
    SELECT ('{' || string_agg(to_json(key)::text || ':' || value::text, ',' ORDER BY n) || '}')::json
    FROM json_each(document -> name) WITH ORDINALITY AS member (key, value, n) WHERE key <> ALL (others)) END
$$;
