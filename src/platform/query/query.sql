-- The functions that compiled expressions call. None of them fails, whatever it is given, but for those that hold values to a limit.
--
-- Those that name an argument twice are plpgsql, because PostgreSQL inlines SQL functions, arguments repeated, and an
-- argument may be the reading of a large JSON text. One number read at a path, 100,000 rows of 1.8 KB, ms on PostgreSQL
-- 15 / 18 (bench/json-path.mjs): no guard 1062 / 761, plpgsql function 1041 / 879, substring(…)::numeric 1428 / 1126,
-- CASE with the value twice 1850 / 1487, the same as a SQL function 2785 / 2280. A plpgsql exception block is as
-- quick while no cast fails (1017 / 836), but opens a subtransaction for each row.

-- The same JSON with U+FFFD in place of `\u0000` and of half surrogate pairs. `(?<!\\)((?:\\\\)*)` finds the backslashes that
-- begin an escape: those after an even number of others. Whole pairs step aside as `\p`, which is no JSON escape,
-- while the rest is replaced.
CREATE OR REPLACE FUNCTION skein_safe_json(document json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(regexp_replace(regexp_replace(document::text,
    '(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})', '\1\\p\2\3', 'g'),
    '(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
    '(?<!\\)((?:\\\\)*)\\p([0-9a-fA-F]{4})([0-9a-fA-F]{4})', '\1\\u\2\\u\3', 'g')::json
$$;

-- The number that a text of at most 400 characters spells, as JSON spells numbers; NULL for any other text.
CREATE OR REPLACE FUNCTION skein_number(input text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE WHEN length(input) <= 400 AND input ~ '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$' THEN input::numeric END;
END
$$;

-- Seconds since 1970 as an instant. Rounded first: float8 refuses a number like 1e-400.
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

-- A date-time of ISO 8601, or a number of seconds, as an instant. STABLE only because the cast is: every text that reaches it
-- carries an offset, so no setting matters.
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

-- Sign of a - b for two values out of JSON: by size if both read as numbers, otherwise by code point.
CREATE OR REPLACE FUNCTION skein_compare(a text, b text) RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN coalesce(
    sign(skein_number(a) - skein_number(b))::integer,
    CASE WHEN a = b THEN 0 WHEN a COLLATE "C" < b THEN -1 WHEN a COLLATE "C" > b THEN 1 END);
END
$$;

-- As answers write times. IMMUTABLE, as what RETURNING computes must be; to_char is STABLE for the names of months only.
CREATE OR REPLACE FUNCTION skein_wire_time(at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- A text that has at most so many bytes, which is known without taking it out. SK413 is answered as `too_large`.
CREATE OR REPLACE FUNCTION skein_within(input text, most int) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF octet_length(input) > most THEN
    RAISE EXCEPTION 'a value has more than % bytes', most USING ERRCODE = 'SK413', DETAIL = most;
  END IF;
  RETURN input;
END
$$;

-- What `#>>` finds, as compiled expressions have it, within a limit. What it takes to find it is freed at once, where an
-- expression keeps it until the row is done with.
CREATE OR REPLACE FUNCTION skein_text_at(document json, is_opaque boolean, path text[], most int) RETURNS text
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
    path := '{}';
  END IF;
  RETURN skein_within(document #>> path, most);
END
$$;

-- What `skein_text_at` finds at each of several paths, a list of lists of steps. A document into which several of them lead is
-- taken apart once for all, and so is what they lead to: 20 paths into one of 30 MiB took 4 to 15 times as long one by one
-- (bench/json-paths.mjs). A list is read for each of its items, since all of them together would be written to disk. Of members
-- of one name the last one counts; `#>>` goes back to an earlier one where the last has no such path.
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

-- SHA-256 of what a text says, in hex: JSON that differs in spaces or in the order of its members is the same. What PostgreSQL
-- cannot take as `jsonb` (no JSON, or too large) is compared as it is written.
CREATE OR REPLACE FUNCTION skein_content_sha256(input text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
  RETURN encode(sha256(convert_to(input::jsonb::text, 'UTF8')), 'hex');
EXCEPTION WHEN others THEN
  RETURN encode(sha256(convert_to(input, 'UTF8')), 'hex');
END
$$;
