-- The functions that compiled expressions call. None of them fails for any input, except those that limit the size of a
-- value.
--
-- Functions that use an argument twice are plpgsql. PostgreSQL inlines SQL functions and repeats their arguments, and
-- an argument may read a large JSON text. One number read at a path, 100,000 rows of 1.8 KB, ms of a serial
-- scan on PostgreSQL 15 / 18:
-- - no guard 1062 / 761
-- - plpgsql function 1041 / 879
-- - substring(…)::numeric 1428 / 1126
-- - CASE with the value twice 1850 / 1487
-- - the same as a SQL function 2785 / 2280
--
-- A plpgsql exception block is as fast while no cast fails (1017 / 836), but opens a subtransaction for each row.

-- Returns the same JSON with U+FFFD in place of `\u0000` and of half surrogate pairs. `(?<!\\)((?:\\\\)*)` finds the
-- backslashes that begin an escape: those after an even number of others. Whole pairs are rewritten with `\p`, which is
-- no JSON escape, while the other escapes are replaced, and are restored at the end.
CREATE OR REPLACE FUNCTION skein_safe_json(document json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(regexp_replace(regexp_replace(document::text,
    '(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})', '\1\\p\2\3', 'g'),
    '(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
    '(?<!\\)((?:\\\\)*)\\p([0-9a-fA-F]{4})([0-9a-fA-F]{4})', '\1\\u\2\\u\3', 'g')::json
$$;

-- Returns the number that a text of at most 400 characters spells in JSON's format. NULL for any other text.
CREATE OR REPLACE FUNCTION skein_number(input text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE WHEN length(input) <= 400 AND input ~ '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$' THEN input::numeric END;
END
$$;

-- Converts seconds since 1970 to an instant. They are rounded first, because float8 refuses a number like 1e-400.
CREATE OR REPLACE FUNCTION skein_time(seconds numeric) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE
    WHEN seconds < -62135596800 THEN '-infinity'::timestamptz
    WHEN seconds >= 253402300800 THEN 'infinity'::timestamptz
    ELSE to_timestamp(round(seconds, 6)::float8)
  END;
END
$$;

-- Converts a date-time of ISO 8601, or a number of seconds, to an instant. It is STABLE only because the cast is. Every
-- text that reaches the cast has an offset, so no setting matters.
CREATE OR REPLACE FUNCTION skein_time(input text) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE
    WHEN input !~ '^(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?(?:Z|[-+](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?)?$' THEN skein_time(skein_number(input))
    WHEN length(input) = 10 THEN (input || 'T00:00Z')::timestamptz
    WHEN substring(input FROM 11) ~ '[-+Z]' THEN input::timestamptz
    ELSE (input || 'Z')::timestamptz
  END;
END
$$;

-- Returns the sign of a - b for two values out of JSON: by size if both are numbers, otherwise by code point.
CREATE OR REPLACE FUNCTION skein_compare(a text, b text) RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN coalesce(
    sign(skein_number(a) - skein_number(b))::integer,
    CASE WHEN a = b THEN 0 WHEN a COLLATE "C" < b THEN -1 WHEN a COLLATE "C" > b THEN 1 END);
END
$$;

-- Formats a time as answers print it. It is IMMUTABLE, as RETURNING needs. to_char is STABLE only because of the names
-- of months.
CREATE OR REPLACE FUNCTION skein_wire_time(at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Returns the text, or fails if it has more bytes than `most`. The length is known without reading the text. SK413
-- becomes `too_large` in the answer.
CREATE OR REPLACE FUNCTION skein_within(input text, most int) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF octet_length(input) > most THEN
    RAISE EXCEPTION 'a value has more than % bytes', most USING ERRCODE = 'SK413', DETAIL = most;
  END IF;
  RETURN input;
END
$$;

-- Returns the result of `#>`, as compiled expressions compute it. PostgreSQL reads signed steps, like `-1`, as indexes
-- of arrays, of which it counts negative ones in the wrong array. `->` reads them as keys.
CREATE OR REPLACE FUNCTION skein_json_at(document json, is_opaque boolean, path text[]) RETURNS json
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  step text;
BEGIN
  IF is_opaque THEN
    document := skein_safe_json(document);
  END IF;
  IF EXISTS (SELECT FROM unnest(path) s WHERE s ~ '^\s*[-+]\d+$|^\s+\d+$') THEN
    FOREACH step IN ARRAY path LOOP
      document := CASE WHEN step ~ '^\s*[-+]\d+$|^\s+\d+$' THEN document -> step ELSE document #> ARRAY[step] END;
    END LOOP;
    RETURN document;
  END IF;
  RETURN document #> path;
END
$$;

-- Returns the result of `#>>` in the same way, within a limit. Its memory is freed at once. A plain expression keeps
-- its memory until the row is finished.
CREATE OR REPLACE FUNCTION skein_text_at(document json, is_opaque boolean, path text[], most int) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF is_opaque OR EXISTS (SELECT FROM unnest(path) s WHERE s ~ '^\s*[-+]\d+$|^\s+\d+$') THEN
    document := skein_json_at(document, is_opaque, path);
    path := '{}';
  END IF;
  RETURN skein_within(document #>> path, most);
END
$$;

-- Returns the `json_typeof` of the value whose text `skein_text_at` returns. Its memory, too, is freed at once.
CREATE OR REPLACE FUNCTION skein_kind_at(document json, is_opaque boolean, path text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN json_typeof(skein_json_at(document, is_opaque, path));
END
$$;

-- Returns the values that `skein_text_at` finds at each of several paths, a list of lists of steps. A document, or a
-- part of it, that several paths share is parsed once. Singly, 20 paths into a document of 30 MiB took 4 to 15 times as
-- long (bench/json-paths.mjs). An array is read again for each item, because all items together would be written to
-- disk. Among members of one name the last one counts. `#>>` falls back to an earlier one when the last has no such
-- path.
CREATE OR REPLACE FUNCTION skein_texts_at(document json, is_opaque boolean, paths json, most int) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  -- each as the text of an array, since an array of arrays would need them to have one length
  steps text[] := ARRAY(SELECT ARRAY(SELECT json_array_elements_text(path))::text FROM json_array_elements(paths) path);
BEGIN
  IF is_opaque THEN
    document := skein_safe_json(document);
  END IF;
  RETURN ARRAY(
    WITH RECURSIVE parts AS (
      SELECT document AS node, ARRAY(SELECT generate_subscripts(steps, 1)) AS places, 0 AS depth
      UNION ALL
      SELECT next.node, next.places, p.depth + 1
      FROM parts p CROSS JOIN LATERAL (
        WITH ways AS (
          SELECT (steps[place]::text[])[p.depth + 1] AS step, array_agg(place) AS places, count(*) OVER () AS count
          FROM unnest(p.places) place WHERE cardinality(steps[place]::text[]) > p.depth GROUP BY 1
        )
        SELECT CASE WHEN step ~ '^\s*[-+]\d+$|^\s+\d+$' THEN p.node -> step ELSE p.node #> ARRAY[step] END AS node, places
        FROM ways WHERE count = 1 OR json_typeof(p.node) <> 'object'
        UNION ALL (
          SELECT DISTINCT ON (w.step) m.value, w.places
          FROM json_each(CASE WHEN json_typeof(p.node) = 'object' AND (SELECT count(*) > 1 FROM ways) THEN p.node END)
            WITH ORDINALITY m (key, value, place) JOIN ways w ON w.step = m.key
          ORDER BY w.step, m.place DESC
        )
      ) next
      WHERE cardinality(p.places) > 1
    ), found AS (
      SELECT place, skein_text_at(p.node, false, (steps[place]::text[])[p.depth + 1:], most) AS value
      FROM parts p CROSS JOIN LATERAL unnest(p.places) place
      WHERE cardinality(p.places) = 1 OR cardinality(steps[place]::text[]) = p.depth
    )
    SELECT found.value FROM generate_subscripts(steps, 1) place LEFT JOIN found USING (place) ORDER BY place);
END
$$;

-- Returns the SHA-256 of a text's content, in hex. JSON that differs in spaces or in the order of members has the same
-- hash. A text that PostgreSQL cannot convert to `jsonb` (not JSON, or too large) is hashed as it is.
CREATE OR REPLACE FUNCTION skein_content_sha256(input text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
  RETURN encode(sha256(convert_to(input::jsonb::text, 'UTF8')), 'hex');
EXCEPTION WHEN others THEN
  RETURN encode(sha256(convert_to(input, 'UTF8')), 'hex');
END
$$;

-- Decodes the escapes of a JSON text, or of another text that contains JSON. Quotation marks around strings stay. With
-- `is_json` every escape must be valid JSON; otherwise a backslash before any other character stays a backslash.
CREATE OR REPLACE FUNCTION skein_unescaped(input text, is_json boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  said text := replace(input, '\\', '\u005c');
BEGIN
  IF NOT is_json THEN
    said := regexp_replace(said, '\\(?!["/bfnrt]|u[0-9a-fA-F]{4})', '\\u005c', 'g');
    said := regexp_replace(said, '[\x01-\x08\x0b\x0c\x0e-\x1f]', ' ', 'g');
  END IF;
  said := replace(replace(replace(said, '\"', '\u0022'), '"', '\"'), E'\n', '\n');
  said := '"' || replace(replace(said, E'\r', '\r'), E'\t', '\t') || '"';
  IF NOT is_json AND said ~ '\\u(?:0000|[dD][89a-fA-F])' THEN
    RETURN skein_safe_json(said::json) #>> '{}';
  END IF;
  RETURN said::json #>> '{}';
END
$$;

-- True when a text looks like JSON that may contain escapes.
CREATE OR REPLACE FUNCTION skein_is_like_json(input text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT strpos(input, '"') > 0 AND left(ltrim(input, E' \n\r\t'), 1) || right(rtrim(input, E' \n\r\t'), 1) IN ('{}', '[]', '""')
$$;

-- True when a JSON value contains a text in any spelling. `input` is the result of `#>>`, and `kind` its `json_typeof`;
-- `json` means a text that looks like JSON. An object or a list is searched as text without escapes. So is each string
-- in it that itself looks like JSON. `needle` must be in lower case when `is_folded` is set.
CREATE OR REPLACE FUNCTION skein_says(input text, kind text, needle text, is_folded boolean, capitals text, letters text, depth int DEFAULT 0)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  is_spelled boolean := kind IN ('object', 'array', 'json') AND strpos(input, '\') > 0;
  is_short boolean := octet_length(needle) <= 64; -- strpos may compare the whole needle at each place, and nothing interrupts it
  said text := input;
  place int;
BEGIN
  IF is_spelled AND is_short AND strpos(needle, '\') = 0 THEN
    place := strpos(CASE WHEN is_folded THEN translate(lower(input COLLATE "C"), capitals, letters) ELSE input END, needle);
    IF place > 1 AND substr(input, place - 1, 1) !~ '[\\u0-9a-fA-F]' THEN -- it cannot begin inside an escape
      RETURN true;
    END IF;
  END IF;
  IF is_spelled THEN
    said := skein_unescaped(input, kind <> 'json');
  END IF;
  IF is_folded THEN
    said := translate(lower(said COLLATE "C"), capitals, letters);
  END IF;
  IF (CASE WHEN is_short THEN strpos(said, needle) > 0 ELSE said COLLATE "C" ~ ('***=' || needle) END) THEN
    RETURN true;
  END IF;
  IF NOT is_spelled THEN
    RETURN kind = 'string' AND strpos(input, '\') > 0 AND skein_is_like_json(input)
      AND skein_says(input, 'json', needle, is_folded, capitals, letters, depth + 1);
  END IF;
  IF depth >= 8 OR strpos(input, '\"') = 0 AND strpos(input, 'u0022') = 0 THEN
    RETURN false;
  END IF;
  FOR said IN
    SELECT skein_unescaped(substr(m[1], 2, length(m[1]) - 2), kind <> 'json')
    FROM regexp_matches(input, '"(?:\s|\\[nrt]|\\u00(?:20|0[9aAdD]))*(?:[\[{]|\\"|\\u00(?:22|[57][bB]))(?:[^"\\]|\\.)*"', 'g') m
  LOOP
    IF skein_is_like_json(said) AND skein_says(said, 'json', needle, is_folded, capitals, letters, depth + 1) THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END
$$;
