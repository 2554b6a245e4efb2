-- Marks the thread of a changed turn (docs/adr/0030-thread-statistics.md). If a turn left a thread, only the old row of
-- the update names that thread.
CREATE OR REPLACE FUNCTION skein_mark_thread() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' AND NEW.id = NEW.turn_id AND NEW.thread_id <> '' THEN
    INSERT INTO thread_marks (project_id, thread_id) VALUES (NEW.project_id, NEW.thread_id);
  END IF;
  IF TG_OP <> 'INSERT' AND OLD.id = OLD.turn_id AND OLD.thread_id <> ''
    AND (OLD.project_id, OLD.id, OLD.turn_id, OLD.thread_id)
      IS DISTINCT FROM (NEW.project_id, NEW.id, NEW.turn_id, NEW.thread_id) THEN
    INSERT INTO thread_marks (project_id, thread_id) VALUES (OLD.project_id, OLD.thread_id);
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER calls_mark_inserted AFTER INSERT ON calls FOR EACH ROW
WHEN (NEW.id = NEW.turn_id AND NEW.thread_id <> '' AND NEW.op_name IS NOT NULL AND NEW.deleted_at IS NULL)
EXECUTE FUNCTION skein_mark_thread();
CREATE OR REPLACE TRIGGER calls_mark_updated AFTER UPDATE ON calls FOR EACH ROW
WHEN ((OLD.id = OLD.turn_id AND OLD.thread_id <> '' OR NEW.id = NEW.turn_id AND NEW.thread_id <> '')
  AND (OLD.project_id, OLD.id, OLD.turn_id, OLD.thread_id, OLD.op_name IS NULL, OLD.deleted_at IS NULL,
    OLD.started_at, OLD.ended_at)
  IS DISTINCT FROM (NEW.project_id, NEW.id, NEW.turn_id, NEW.thread_id, NEW.op_name IS NULL,
    NEW.deleted_at IS NULL, NEW.started_at, NEW.ended_at))
EXECUTE FUNCTION skein_mark_thread();
CREATE OR REPLACE TRIGGER calls_mark_deleted AFTER DELETE ON calls FOR EACH ROW
WHEN (OLD.id = OLD.turn_id AND OLD.thread_id <> '' AND OLD.op_name IS NOT NULL AND OLD.deleted_at IS NULL)
EXECUTE FUNCTION skein_mark_thread();
