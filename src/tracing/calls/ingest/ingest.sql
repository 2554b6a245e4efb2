-- A connection keeps the plans of functions, and the first plans are made while `calls` is small or empty. Then all
-- indexes that begin with `project_id` seem to cost the same. PostgreSQL may choose one with which each look-up reads
-- the whole project. These functions read a range in the order of one index and may not sort, so no other index fits.
-- They are plpgsql, so that they are not inlined into a statement that then joins shards.

-- Returns the traces of stored calls, or of their parents, in the order of the calls. Only calls with a `new_trace` are
-- looked up.
CREATE OR REPLACE FUNCTION skein_traces(project text, calls text[], parents text[], new_traces text[]) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET enable_sort = off AS $$
BEGIN
  RETURN ARRAY(SELECT CASE WHEN w.new_trace IS NOT NULL THEN coalesce(
      (SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id >= w.id AND c.id <= w.id ORDER BY c.id LIMIT 1),
      (SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id >= w.parent_id AND c.id <= w.parent_id ORDER BY c.id LIMIT 1)) END
    FROM unnest(calls, parents, new_traces) w (id, parent_id, new_trace));
END
$$;

-- Returns those of the traces in which a visible span below another names a thread. Only in these may a turn move.
CREATE OR REPLACE FUNCTION skein_threaded(project text, traces text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT t.id FROM unnest(traces) t (id) CROSS JOIN LATERAL (
    SELECT FROM calls c WHERE c.project_id = project AND c.trace_id >= t.id AND c.trace_id <= t.id
      AND num_nulls(c.parent_id, c.thread_id) = 0 AND num_nulls(c.thread_source, c.otel_dump) < 2 AND c.deleted_at IS NULL
    ORDER BY c.trace_id LIMIT 1) c;
END
$$;
