-- Functions that this build does not call. Processes of the version before call them while they run beside this build.
-- The next version takes them out, and its migration drops them (CONTRIBUTING.md, "Changing the schema").

-- Returns the trace of a stored call.
CREATE OR REPLACE FUNCTION skein_trace(project text, call text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT SET enable_sort = off AS $$
BEGIN
  RETURN (
    SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id >= call AND c.id <= call ORDER BY c.id LIMIT 1);
END
$$;

-- Returns the stored numbers of a call by model, without details.
CREATE OR REPLACE FUNCTION skein_usage(usage json, counts_gross boolean)
RETURNS TABLE (llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint,
  cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT u.llm_id, u.unknown_kinds, u.prompt_tokens, u.completion_tokens, u.cache_read_input_tokens, u.cache_creation_input_tokens,
    u.input_tokens
  FROM skein_detailed_usage(usage, counts_gross) u
$$;
