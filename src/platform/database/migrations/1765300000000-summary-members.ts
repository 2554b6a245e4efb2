import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a document has beside a member of a name, and the members of that one: answers derive a member of the same name, and
 * an object has each name once. Values keep their spelling. A document without the name costs a search in its text.
 */
export class SummaryMembers1765300000000 implements MigrationInterface {
  name = 'SummaryMembers1765300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION skein_without(document json, name text) RETURNS json
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN strpos(document::text, to_json(name)::text) = 0 THEN document ELSE (
          SELECT ('{' || coalesce(string_agg(to_json(key)::text || ':' || value::text, ',' ORDER BY n), '') || '}')::json
          FROM json_each(document) WITH ORDINALITY AS member (key, value, n) WHERE key <> name) END
      $$`);
    await runner.query(`
      CREATE FUNCTION skein_members(document json, name text, others text[]) RETURNS json
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT CASE WHEN strpos(document::text, to_json(name)::text) > 0 AND json_typeof(document -> name) = 'object' THEN (
          SELECT ('{' || string_agg(to_json(key)::text || ':' || value::text, ',' ORDER BY n) || '}')::json
          FROM json_each(document -> name) WITH ORDINALITY AS member (key, value, n) WHERE key <> ALL (others)) END
      $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION skein_members(json, text, text[])`);
    await runner.query(`DROP FUNCTION skein_without(json, text)`);
  }
}
