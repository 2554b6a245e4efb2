-- Marks the trials and evaluations that changed calls may affect (docs/adr/0132-evaluations.md), with one mark for each
-- project of a statement. Calls below a trial belong to it. The trigger reads no other calls, so it names the parents
-- of all changed calls.
CREATE OR REPLACE FUNCTION skein_mark_trials() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  mark record;
BEGIN
  IF TG_OP <> 'UPDATE' THEN -- `changed` are the rows that came or went
    FOR mark IN SELECT project_id,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(id) FILTER (WHERE skein_is_trial(op_name)) AS trials,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL AND skein_is_trial(op_name)) AS above,
      array_agg(id) FILTER (WHERE strpos(op_name, 'Evaluation.evaluate') > 0) AS runs
    FROM changed WHERE op_name IS NOT NULL AND deleted_at IS NULL
      AND (parent_id IS NOT NULL OR strpos(op_name, 'Evaluation.') > 0) GROUP BY 1 LOOP
      INSERT INTO trial_marks (project_id, call_ids, run_ids)
      VALUES (mark.project_id, coalesce(mark.parents || mark.trials, '{}'), coalesce(mark.above || mark.runs, '{}'));
    END LOOP;
  ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
    FOR mark IN SELECT project_id,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT id) FILTER (WHERE skein_is_trial(op_name)) AS trials,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL AND skein_is_trial(op_name)) AS above,
      array_agg(DISTINCT id) FILTER (WHERE strpos(op_name, 'Evaluation.evaluate') > 0) AS runs
    FROM (
        SELECT project_id, id, parent_id, op_name FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL
        UNION ALL SELECT project_id, id, parent_id, op_name FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL) t
    WHERE parent_id IS NOT NULL OR strpos(op_name, 'Evaluation.') > 0 GROUP BY 1 LOOP
      INSERT INTO trial_marks (project_id, call_ids, run_ids)
      VALUES (mark.project_id, coalesce(mark.parents || mark.trials, '{}'), coalesce(mark.above || mark.runs, '{}'));
    END LOOP;
  END IF;
  RETURN NULL;
END
$$;

-- Matches the op of a trial's call. The two SDKs spell its name differently.
CREATE OR REPLACE FUNCTION skein_is_trial(op_name text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT strpos(op_name, 'Evaluation.predict_and_score') > 0 OR strpos(op_name, 'Evaluation.predictAndScore') > 0
$$;

CREATE OR REPLACE TRIGGER calls_mark_trials_inserted AFTER INSERT ON calls
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_trials();
CREATE OR REPLACE TRIGGER calls_mark_trials_updated AFTER UPDATE ON calls
REFERENCING OLD TABLE AS replaced NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_trials();
CREATE OR REPLACE TRIGGER calls_mark_trials_deleted AFTER DELETE ON calls
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_trials();
