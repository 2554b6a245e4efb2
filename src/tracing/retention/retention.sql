-- Refuses a start or an end that is sent again, if it would take a call out of a legal hold or replace its documents
-- (docs/erasing.md). Only such writes set `op_name`. The lock is that of `awaitHolds`, and the code that of
-- `fromSqlState`; builds that do not know it refuse the write too.
CREATE OR REPLACE FUNCTION skein_keep_held() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  hold text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1752132708, hashtext(OLD.project_id));
  SELECT h.name INTO hold FROM legal_holds h
  WHERE h.project_id = OLD.project_id AND (num_nulls(h.trace_id, h.thread_id) = 2 OR h.trace_id = OLD.trace_id
    OR EXISTS (SELECT FROM calls c WHERE c.project_id = OLD.project_id AND c.trace_id = OLD.trace_id
      AND (c.thread_id || '') = h.thread_id))
  ORDER BY h.name LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'a legal hold keeps this call' USING ERRCODE = '22SKH', DETAIL = hold;
  END IF;
  RETURN NEW;
END
$$;

-- A call that runs may still change. Clients of events send what a call has become in parts, which are merged.
CREATE OR REPLACE TRIGGER calls_keep_held BEFORE UPDATE OF op_name ON calls FOR EACH ROW
WHEN (OLD.op_name IS NOT NULL AND (
  OLD.trace_id IS DISTINCT FROM NEW.trace_id
  OR OLD.thread_id IS DISTINCT FROM NEW.thread_id AND OLD.thread_id <> '' AND coalesce(OLD.thread_source, '') = ''
    AND (OLD.ended_at IS NOT NULL OR NEW.otel_dump IS NULL)
  OR OLD.ended_at IS NOT NULL AND NEW.event_times IS NULL AND (
    nullif(coalesce(OLD.own_inputs, OLD.inputs)::text, '{}') <> coalesce(coalesce(NEW.own_inputs, NEW.inputs)::text, '')
    OR nullif(coalesce(OLD.own_output, OLD.output)::text, 'null') <> coalesce(coalesce(NEW.own_output, NEW.output)::text, ''))))
EXECUTE FUNCTION skein_keep_held();
