-- SHA-256 of what a text says, in hex: JSON that differs in spaces or in the order of its members is the same. What PostgreSQL
-- cannot take as `jsonb` (no JSON, or too large) is compared as it is written.
CREATE OR REPLACE FUNCTION skein_content_sha256(input text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
  RETURN encode(sha256(convert_to(input::jsonb::text, 'UTF8')), 'hex');
EXCEPTION WHEN others THEN
  RETURN encode(sha256(convert_to(input, 'UTF8')), 'hex');
END
$$;
