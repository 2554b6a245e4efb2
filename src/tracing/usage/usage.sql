-- Returns the stored numbers of a call by model, from `calls.usage` and `calls.counts_gross`. Also sets the members
-- that `storedUsage` leaves out. `details` has the counts of `DETAILS` (tokens.ts), NULL if the usage has none. A name
-- that is too long for every price record is cut, so that an index can hold it.
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
