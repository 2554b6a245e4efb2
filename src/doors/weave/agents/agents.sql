-- Encodes text as in a ref of a conversation: all bytes except letters, digits, `_.~-` and the kept characters become
-- `%XX`. Python's clients keep none, JavaScript's keep `!'()*`.
CREATE OR REPLACE FUNCTION skein_url_encoded(input text, kept text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN input ~ '^[A-Za-z0-9_.~-]*$' THEN input ELSE (
    SELECT string_agg(CASE WHEN t.letter ~ '^[A-Za-z0-9_.~-]$' OR strpos(kept, t.letter) > 0 THEN t.letter
        ELSE regexp_replace(upper(encode(convert_to(t.letter, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END, '' ORDER BY t.place)
    FROM regexp_split_to_table(input, '') WITH ORDINALITY t (letter, place)) END
$$;
