-- Marks the slots of changed calls (docs/adr/0031-call-statistics.md), once for each slot that a statement changes. A
-- mark names the parents and the responses of the changed calls, because the counted usage of other calls may depend on
-- them. It counts the bytes of documents like `DOCUMENT_BYTES`; new documents are not compressed yet. No trigger reads
-- other calls. The same rows are marked for the index of texts (docs/adr/0142-texts.md).
CREATE OR REPLACE FUNCTION skein_mark_slots() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, count(*) AS calls,
      sum(coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
        + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0)) AS bytes,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses, array_agg(id) AS ids
    FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.bytes, mark.parents, mark.responses);
      INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES (mark.project_id, mark.slot, mark.ids, mark.bytes < 0);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, -count(*) AS calls,
      -sum(coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
        + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0)) AS bytes,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses, array_agg(id) AS ids
    FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.bytes, mark.parents, mark.responses);
      INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES (mark.project_id, mark.slot, mark.ids, mark.bytes < 0);
    END LOOP;
  ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
    FOR mark IN SELECT project_id, slot, sum(change) AS calls, sum(change * size) AS bytes,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses, array_agg(DISTINCT id) AS ids FROM (
        SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, 1 AS change, id, parent_id, response_id,
          coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
          + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0) AS size
        FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL
        UNION ALL SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, -1, id, parent_id, response_id,
          coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
          + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0)
        FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL) t
      GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.bytes, mark.parents, mark.responses);
      INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES (mark.project_id, mark.slot, mark.ids, mark.bytes < 0);
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
