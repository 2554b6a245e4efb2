-- Returns the usage of a call by model, from `calls.usage` and `calls.counts_gross`. Also sets the members that
-- src/tracing/usage/ leaves out. A name that is too long for every price record is cut, so that an index can hold it.
CREATE OR REPLACE FUNCTION skein_usage(usage json, counts_gross boolean)
RETURNS TABLE (llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint,
  cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT u.llm_id, u.unknown_kinds, u.prompt_tokens, u.completion_tokens, u.cache_read_input_tokens, u.cache_creation_input_tokens,
    u.input_tokens
  FROM skein_detailed_usage(usage, counts_gross) u
$$;

-- Returns the usage of `skein_usage` with the counts of `DETAILS` (src/tracing/usage/tokens.ts). NULL if the usage has
-- no details.
CREATE OR REPLACE FUNCTION skein_detailed_usage(usage json, counts_gross boolean)
RETURNS TABLE (llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint,
  cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint, details bigint[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN length(u.llm_id) > 256 THEN left(u.llm_id, 255) || '…' ELSE u.llm_id END COLLATE "C",
    coalesce(u.unknown_kinds, 0), p.tokens, coalesce(u.completion_tokens, 0), coalesce(u.cache_read_input_tokens, 0),
    coalesce(u.cache_creation_input_tokens, 0),
    p.tokens + coalesce(u.cache_read_input_tokens, 0) + coalesce(u.cache_creation_input_tokens, 0), u.details
  FROM json_to_recordset(usage) AS u (llm_id text, unknown_kinds integer, prompt_tokens bigint, gross_prompt_tokens bigint,
      completion_tokens bigint, cache_read_input_tokens bigint, cache_creation_input_tokens bigint, details bigint[])
    CROSS JOIN LATERAL (
      SELECT coalesce(CASE WHEN counts_gross THEN u.gross_prompt_tokens END, u.prompt_tokens, 0) AS tokens) p
$$;

-- Subtracts the details of the calls below from a call's own details, and limits them to the tokens of their kinds.
-- Like `detailsLeft` in TypeScript. `tokens` has the tokens of each kind, `kinds` the position of the kind of each
-- detail.
CREATE OR REPLACE FUNCTION skein_details_left(own bigint[], below bigint[], tokens bigint[], kinds integer[])
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  found bigint[] := '{}';
  detail bigint;
BEGIN
  FOR i IN 1 .. array_length(kinds, 1) LOOP
    detail := least(greatest(coalesce(own[i], 0) - coalesce(below[i], 0), 0), tokens[kinds[i]]);
    tokens[kinds[i]] := tokens[kinds[i]] - detail;
    found := found || detail;
  END LOOP;
  RETURN CASE WHEN 0 <> ANY (found) THEN found END;
END
$$;

-- Marks the slots of changed calls (docs/adr/0031-call-statistics.md), once for each slot that a statement changes. A
-- mark names the parents and the responses of the changed calls, because the counted usage of other calls may depend on
-- them. No trigger reads other calls.
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
