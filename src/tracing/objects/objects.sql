-- Returns the project, the object and the digest that a JSON value names as a ref; NULL when it is no ref.
CREATE OR REPLACE FUNCTION skein_named(value json) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN json_typeof(value) = 'string' AND octet_length(value::text) <= 2048 THEN
    regexp_match(value #>> '{}', '^(?:svc|weave):///([^/]+/[^/]+)/(?:object|op)/([^/:]+):([^/:]+)$') END
$$;
