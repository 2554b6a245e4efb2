-- The audit only grows.
CREATE OR REPLACE FUNCTION skein_refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is never edited', TG_TABLE_NAME;
END
$$;

CREATE OR REPLACE TRIGGER audit_events_never_edited BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
FOR EACH STATEMENT EXECUTE FUNCTION skein_refuse_change();
