-- A number of tokens as src/tracing/usage.ts takes it: what JavaScript reads as a whole number from 0 to 2^53 - 1.
CREATE OR REPLACE FUNCTION skein_count(value json) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  digits text := value::text;
  number double precision;
BEGIN
  IF digits ~ '^[0-9]{1,15}$' THEN RETURN digits::bigint; END IF;
  IF json_typeof(value) <> 'number' THEN RETURN NULL; END IF;
  BEGIN
    number := digits::double precision;
  EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN CASE WHEN digits ~ '[eE]-|^-?0[.]' THEN 0 END;
  END;
  RETURN CASE WHEN number = trunc(number) AND number BETWEEN 0 AND 9007199254740991 THEN number::bigint END;
END
$$;

-- Whether a client counts cached tokens among Anthropic's input tokens, which do not hold them: the SDK of Weave for
-- Python from 0.53.2 on, also where it sums up children.
CREATE OR REPLACE FUNCTION skein_counts_gross(attributes json, is_opaque boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN position('python-sdk' IN attributes::text) > 0 THEN coalesce((
    SELECT c.json ->> 'source' = 'python-sdk' AND string_to_array(
      substring(c.json ->> 'client_version' FROM '^[0-9]{1,4}[.][0-9]{1,4}[.][0-9]{1,4}'), '.')::int[] >= '{0,53,2}'
    FROM (SELECT (CASE WHEN is_opaque THEN skein_safe_json(attributes) ELSE attributes END) -> 'weave' AS json) c
  ), false) ELSE false END
$$;

-- Whether `skein_usage` answers anything.
CREATE OR REPLACE FUNCTION skein_has_usage(summary json, is_opaque boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT EXISTS (
    SELECT FROM (
      SELECT (array_agg(e.usage ORDER BY e.place DESC))[1] AS usage
      FROM (SELECT (CASE WHEN is_opaque THEN skein_safe_json(summary) ELSE summary END) -> 'usage' AS json OFFSET 0) u
        CROSS JOIN LATERAL json_each(CASE json_typeof(u.json) WHEN 'object' THEN u.json END)
          WITH ORDINALITY AS e (llm_id, usage, place)
      GROUP BY e.llm_id) m
    WHERE json_typeof(m.usage) = 'object')
$$;

-- The usage of a call by model, as src/tracing/usage.ts reads it; a test compares the two. The first 1000 models in
-- JavaScript's order of keys. `unknown_kinds` has a bit for each kind whose tokens it does not say: 1 prompt, 2
-- completion, 4 cache read, 8 cache creation. A name that no record can have is cut, so that an index can hold it.
-- Names of prompt tokens are p, of completion tokens o, of tokens read from a cache c, of those written w, of thoughts t,
-- of totals s, in the order of the dialects.
CREATE OR REPLACE FUNCTION skein_usage(summary json, is_opaque boolean, attributes json)
RETURNS TABLE (llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint,
  cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN length(t.llm_id) > 256 THEN left(t.llm_id, 255) || '…' ELSE t.llm_id END COLLATE "C",
    t.unknown_kinds, t.net, t.completion, t.cache_read, t.cache_creation, t.net + t.cache_read + t.cache_creation
  FROM (
    SELECT a.*, CASE WHEN a.is_apart THEN a.prompt ELSE a.prompt - a.cache_read - a.cache_creation END AS net,
      CASE WHEN a.is_prompt_broken OR a.is_read_broken OR a.is_creation_broken OR a.is_silent THEN 1 ELSE 0 END
        + CASE WHEN a.is_completion_broken OR a.is_silent THEN 2 ELSE 0 END
        + CASE WHEN a.is_read_broken THEN 4 ELSE 0 END + CASE WHEN a.is_creation_broken THEN 8 ELSE 0 END AS unknown_kinds
    FROM (
      SELECT r.*, CASE
        WHEN r.cache_read + r.cache_creation > r.prompt OR r.c5 > 0 OR r.w5 > 0 THEN true
        WHEN (r.c1 > 0 OR r.w1 > 0) AND num_nonnulls(nullif(r.p1, 0), nullif(r.c3, 0), nullif(r.w3, 0)) = 0
          AND r.total IS DISTINCT FROM r.prompt + r.completion THEN NOT skein_counts_gross(attributes, is_opaque)
        ELSE false END AS is_apart
      FROM (
        SELECT s.*, CASE WHEN s.total = s.prompt + s.answer THEN s.answer ELSE s.answer + s.thoughts END AS completion
        FROM (
          SELECT b.*, coalesce(nullif(b.t1, 0), nullif(b.t2, 0), 0) AS thoughts,
            CASE WHEN b.is_both THEN b.p1 + b.p2 ELSE coalesce(nullif(b.p1, 0), nullif(b.p2, 0), nullif(b.p3, 0),
              nullif(b.p4, 0), nullif(b.p5, 0), 0) END AS prompt,
            CASE WHEN b.is_both THEN coalesce(b.o1, 0) + coalesce(b.o2, 0) ELSE coalesce(nullif(b.o1, 0),
              nullif(b.o2, 0), nullif(b.o3, 0), nullif(b.o4, 0), nullif(b.o5, 0), 0) END AS answer,
            coalesce(nullif(b.c1, 0), CASE WHEN b.is_both THEN coalesce(b.c2, 0) + coalesce(b.c3, 0) + coalesce(b.c5, 0)
              ELSE coalesce(nullif(b.c2, 0), nullif(b.c3, 0), nullif(b.c4, 0), nullif(b.c5, 0), 0) END) AS cache_read,
            coalesce(nullif(b.w1, 0), CASE WHEN b.is_both THEN coalesce(b.w2, 0) + coalesce(b.w3, 0) + coalesce(b.w5, 0)
              ELSE coalesce(nullif(b.w2, 0), nullif(b.w3, 0), nullif(b.w5, 0), 0) END) AS cache_creation
          FROM (
            SELECT n.*, coalesce(n.p1 > 0 AND n.p2 > 0
              AND n.total = n.p1 + n.p2 + coalesce(n.o1, 0) + coalesce(n.o2, 0), false) AS is_both
            FROM (
              SELECT v.*, coalesce(nullif(v.s1, 0), nullif(v.s2, 0), v.s1, v.s2) AS total,
                num_nonnulls(v.p1, v.p2, v.p3, v.p4, v.p5, v.o1, v.o2, v.o3, v.o4, v.o5) = 0 AS is_silent,
                num_nonnulls(v.p1, v.p2, v.p3, v.p4, v.p5) < v.prompts AS is_prompt_broken,
                num_nonnulls(v.o1, v.o2, v.o3, v.o4, v.o5, v.t1, v.t2) < v.completions AS is_completion_broken,
                num_nonnulls(v.c1, v.c2, v.c3, v.c4, v.c5) < v.cache_reads AS is_read_broken,
                num_nonnulls(v.w1, v.w2, v.w3, v.w5) < v.cache_creations AS is_creation_broken
              FROM (
                SELECT m.llm_id,
                  skein_count(x.prompt_tokens) AS p1, skein_count(x.input_tokens) AS p2,
                  skein_count(x.prompt_token_count) AS p3, skein_count(x.p4) AS p4, skein_count(x."inputTokens") AS p5,
                  num_nonnulls(x.prompt_tokens, x.input_tokens, x.prompt_token_count, x.p4, x."inputTokens") AS prompts,
                  skein_count(x.completion_tokens) AS o1, skein_count(x.output_tokens) AS o2,
                  skein_count(x.candidates_token_count) AS o3, skein_count(x.o4) AS o4, skein_count(x."outputTokens") AS o5,
                  skein_count(x.thoughts_token_count) AS t1, skein_count(x.thoughts_tokens) AS t2,
                  num_nonnulls(x.completion_tokens, x.output_tokens, x.candidates_token_count, x.o4, x."outputTokens",
                    x.thoughts_token_count, x.thoughts_tokens) AS completions,
                  skein_count(x.cache_read_input_tokens) AS c1, skein_count(x.c2) AS c2, skein_count(x.c3) AS c3,
                  skein_count(x.cached_content_token_count) AS c4, skein_count(x."cacheReadInputTokens") AS c5,
                  num_nonnulls(x.cache_read_input_tokens, x.c2, x.c3, x.cached_content_token_count,
                    x."cacheReadInputTokens") AS cache_reads,
                  skein_count(x.cache_creation_input_tokens) AS w1, skein_count(x.w2) AS w2, skein_count(x.w3) AS w3,
                  skein_count(x."cacheWriteInputTokens") AS w5,
                  num_nonnulls(x.cache_creation_input_tokens, x.w2, x.w3, x."cacheWriteInputTokens") AS cache_creations,
                  skein_count(x.total_tokens) AS s1, skein_count(x.total_token_count) AS s2
                FROM (
                  SELECT (CASE WHEN is_opaque THEN skein_safe_json(summary) ELSE summary END) -> 'usage' AS json OFFSET 0
                ) u CROSS JOIN LATERAL (
                  SELECT e.llm_id, (array_agg(e.usage ORDER BY e.place DESC))[1] AS usage
                  FROM json_each(CASE json_typeof(u.json) WHEN 'object' THEN u.json END)
                    WITH ORDINALITY AS e (llm_id, usage, place)
                  GROUP BY e.llm_id
                  ORDER BY CASE WHEN e.llm_id ~ '^(0|[1-9][0-9]{0,9})$' AND (length(e.llm_id) < 10 OR e.llm_id < '4294967295')
                    THEN lpad(e.llm_id, 10, '0') END, min(e.place)
                  LIMIT 1000
                ) m CROSS JOIN LATERAL (
                  SELECT y.*, CASE WHEN json_typeof(y.billed_units -> 'input_tokens') <> 'null' THEN (y.billed_units -> 'input_tokens') END AS p4, CASE WHEN json_typeof(y.billed_units -> 'output_tokens') <> 'null' THEN (y.billed_units -> 'output_tokens') END AS o4,
                    CASE WHEN json_typeof(y.prompt_tokens_details -> 'cached_tokens') <> 'null' THEN (y.prompt_tokens_details -> 'cached_tokens') END AS c2,
                    CASE WHEN json_typeof(y.input_tokens_details -> 'cached_tokens') <> 'null' THEN (y.input_tokens_details -> 'cached_tokens') END AS c3,
                    CASE WHEN json_typeof(y.prompt_tokens_details -> 'cache_write_tokens') <> 'null' THEN (y.prompt_tokens_details -> 'cache_write_tokens') END AS w2,
                    CASE WHEN json_typeof(y.input_tokens_details -> 'cache_write_tokens') <> 'null' THEN (y.input_tokens_details -> 'cache_write_tokens') END AS w3
                  FROM json_to_record(CASE json_typeof(m.usage) WHEN 'object' THEN m.usage END) AS y (
                    prompt_tokens json, input_tokens json, prompt_token_count json, "inputTokens" json,
                    completion_tokens json, output_tokens json, candidates_token_count json, "outputTokens" json,
                    thoughts_token_count json, thoughts_tokens json, billed_units json, prompt_tokens_details json,
                    input_tokens_details json, cache_read_input_tokens json, cached_content_token_count json,
                    "cacheReadInputTokens" json, cache_creation_input_tokens json, "cacheWriteInputTokens" json,
                    total_tokens json, total_token_count json) OFFSET 0
                ) x WHERE json_typeof(m.usage) = 'object' OFFSET 0
              ) v OFFSET 0
            ) n OFFSET 0
          ) b OFFSET 0
        ) s OFFSET 0
      ) r OFFSET 0
    ) a OFFSET 0
  ) t
$$;

-- Marks the five minutes of changed calls (docs/adr/0031-call-statistics.md): a mark for each slot that a statement touches.
-- A mark names the parents and the responses of the calls that changed, since what other calls count may follow from them;
-- no trigger looks at other calls.
CREATE OR REPLACE FUNCTION skein_mark_slots() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, count(*) AS calls,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses
    FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.parents, mark.responses);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, -count(*) AS calls,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses
    FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.parents, mark.responses);
    END LOOP;
  ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
    FOR mark IN SELECT project_id, slot, sum(change) AS calls,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses FROM (
        SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, 1 AS change, parent_id, response_id
        FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL
        UNION ALL SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, -1, parent_id, response_id
        FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL) t
      GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.parents, mark.responses);
    END LOOP;
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER calls_mark_slots_inserted AFTER INSERT ON calls
REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots();
CREATE OR REPLACE TRIGGER calls_mark_slots_updated AFTER UPDATE ON calls
REFERENCING OLD TABLE AS replaced NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots();
CREATE OR REPLACE TRIGGER calls_mark_slots_deleted AFTER DELETE ON calls
REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots();
