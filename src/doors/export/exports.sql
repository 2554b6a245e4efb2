-- Marks the slot of a call whose feedback has changed, if the project exports calls by schedule: their rows have
-- scores. The refresher computes the slot again, and exports notice that (docs/adr/0141-exports.md).
CREATE OR REPLACE FUNCTION skein_mark_scored_call(project text, ref text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  start timestamptz;
BEGIN
  IF split_part(ref, '/', 6) <> 'call' THEN
    RETURN;
  END IF;
  PERFORM FROM export_schedules s WHERE s.project_id = project AND s.kind = 'calls' LIMIT 1;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT c.started_at INTO start FROM calls c WHERE c.project_id = project AND c.id = split_part(ref, '/', 7);
  IF start IS NOT NULL THEN
    INSERT INTO call_slot_marks (project_id, slot, call_count) VALUES (project, date_bin('5 minutes', start, 'epoch'), 0);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION skein_mark_scores() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM skein_mark_scored_call(OLD.project_id, OLD.ref);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM skein_mark_scored_call(NEW.project_id, NEW.ref);
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER feedback_mark_scores AFTER INSERT OR UPDATE OR DELETE ON feedback
FOR EACH ROW EXECUTE FUNCTION skein_mark_scores();
