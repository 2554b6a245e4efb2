-- The name and the version of the nearest agent above a call, whose parent this is; null where none of them names one.
-- It climbs 16 levels, and looks up one call at a time, by the key: no other plan will do.
CREATE OR REPLACE FUNCTION skein_agent_above(project text, trace text, parent text) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET enable_sort = off AS $$
DECLARE
  above record;
BEGIN
  FOR level IN 1..16 LOOP
    EXIT WHEN parent IS NULL;
    SELECT c.parent_id, c.trace_id, c.agent_name, c.agent_version, c.deleted_at INTO above FROM calls c
      WHERE c.project_id = project AND c.id >= parent AND c.id <= parent ORDER BY c.id LIMIT 1;
    EXIT WHEN NOT FOUND OR above.trace_id IS DISTINCT FROM trace OR above.deleted_at IS NOT NULL;
    IF above.agent_name IS NOT NULL THEN
      RETURN ARRAY[above.agent_name, above.agent_version];
    END IF;
    parent := above.parent_id;
  END LOOP;
  RETURN NULL;
END
$$;

-- As in a ref of a conversation: every byte but letters, digits, `_.~-` and the kept ones as `%XX`. Python keeps none, JavaScript `!'()*`.
CREATE OR REPLACE FUNCTION skein_url_encoded(input text, kept text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN input ~ '^[A-Za-z0-9_.~-]*$' THEN input ELSE (
    SELECT string_agg(CASE WHEN t.letter ~ '^[A-Za-z0-9_.~-]$' OR strpos(kept, t.letter) > 0 THEN t.letter
        ELSE regexp_replace(upper(encode(convert_to(t.letter, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END, '' ORDER BY t.place)
    FROM regexp_split_to_table(input, '') WITH ORDINALITY t (letter, place)) END
$$;
