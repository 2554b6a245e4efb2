import type { MigrationInterface, QueryRunner } from 'typeorm';

const NUMBER = '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$';
const NUMBER_LENGTH = 400;
const MONTH_AND_DAY =
  '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])';
const LEAP_YEAR = '[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00';
const DATE = `(?!0000)(?:[0-9]{4}-(?:${MONTH_AND_DAY})|(?:${LEAP_YEAR})-02-29)`;
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?';
const OFFSET = 'Z|[-+](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?';
const DATE_TIME = `^${DATE}(?:[T ]${TIME}(?:${OFFSET})?)?$`;
const EPOCH = { first: -62_135_596_800, end: 253_402_300_800 } as const;

/**
 * The functions that compiled expressions call. None of them fails, whatever it is given.
 *
 * Those that name an argument twice are plpgsql, because PostgreSQL inlines SQL functions, arguments repeated, and an
 * argument may be the reading of a large JSON text. One number read at a path, 100,000 rows of 1.8 KB, ms on PostgreSQL
 * 15 / 18 (bench/json-path.mjs): no guard 1062 / 761 · plpgsql function 1041 / 879 · substring(…)::numeric 1428 / 1126 ·
 * CASE with the value twice 1850 / 1487 · the same as a SQL function 2785 / 2280. A plpgsql exception block is as
 * quick while no cast fails (1017 / 836), but opens a subtransaction for each row.
 */
const QUERY_FUNCTIONS: readonly string[] = [
  /*
   * The same JSON with U+FFFD in place of `\u0000` and of half surrogate pairs. `(?<!\\)((?:\\\\)*)` finds the
   * backslashes that begin an escape: those after an even number of others. Whole pairs step aside as `\p`, which
   * is no JSON escape, while the rest is replaced.
   */
  String.raw`CREATE OR REPLACE FUNCTION skein_safe_json(document json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(regexp_replace(regexp_replace(document::text,
    '(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})', '\1\\p\2\3', 'g'),
    '(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
    '(?<!\\)((?:\\\\)*)\\p([0-9a-fA-F]{4})([0-9a-fA-F]{4})', '\1\\u\2\\u\3', 'g')::json
$$`,

  `CREATE OR REPLACE FUNCTION skein_number(input text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE WHEN length(input) <= ${NUMBER_LENGTH} AND input ~ '${NUMBER}' THEN input::numeric END;
END $$`,

  /* Seconds since 1970 as an instant. Rounded first: float8 refuses a number like 1e-400. */
  `CREATE OR REPLACE FUNCTION skein_time(seconds numeric) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE
    WHEN seconds < ${EPOCH.first} THEN '-infinity'::timestamptz
    WHEN seconds >= ${EPOCH.end} THEN 'infinity'::timestamptz
    ELSE to_timestamp(round(seconds, 6)::float8)
  END;
END $$`,

  /* STABLE only because the cast is: every text that reaches it carries an offset, so no setting matters. */
  `CREATE OR REPLACE FUNCTION skein_time(input text) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
  RETURN CASE
    WHEN input !~ '${DATE_TIME}' THEN skein_time(skein_number(input))
    WHEN length(input) = 10 THEN (input || 'T00:00Z')::timestamptz
    WHEN substring(input FROM 11) ~ '[-+Z]' THEN input::timestamptz
    ELSE (input || 'Z')::timestamptz
  END;
END $$`,

  /* Sign of a - b for two values out of JSON: by size if both read as numbers, otherwise by code point. */
  `CREATE OR REPLACE FUNCTION skein_compare(a text, b text) RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN coalesce(
    sign(skein_number(a) - skein_number(b))::integer,
    CASE WHEN a = b THEN 0 WHEN a COLLATE "C" < b THEN -1 WHEN a COLLATE "C" > b THEN 1 END);
END $$`,
];

/** Keys, idempotency keys, calls, and the functions that compiled queries use. */
export class Foundation1764000000000 implements MigrationInterface {
  name = 'Foundation1764000000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of QUERY_FUNCTIONS) await runner.query(statement);
    await runner.query(`
      CREATE TABLE api_keys (
        id uuid NOT NULL CONSTRAINT api_keys_pkey PRIMARY KEY,
        user_name text NOT NULL,
        role text NOT NULL CONSTRAINT api_keys_role_check CHECK (role IN ('reader', 'writer', 'admin', 'trainer')),
        scopes text[] NOT NULL,
        secret_hash bytea NOT NULL,
        hint text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        revoked_at timestamptz
      )`);
    await runner.query(`CREATE UNIQUE INDEX api_keys_secret_hash_idx ON api_keys (secret_hash)`);
    await runner.query(`
      CREATE TABLE idempotency_keys (
        project_id text COLLATE "C" NOT NULL,
        api_key_id uuid NOT NULL,
        key text COLLATE "C" NOT NULL,
        body_hash bytea NOT NULL,
        response json,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, api_key_id, key)
      )`);
    await runner.query(
      `CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at)`,
    );
    await runner.query(`
      CREATE TABLE calls (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        started_at timestamptz,
        ended_at timestamptz,
        deleted_at timestamptz,
        run_step integer,
        run_step_end integer,
        is_opaque boolean NOT NULL DEFAULT false,
        has_descendant_error boolean NOT NULL DEFAULT false,
        op_name text COLLATE "C",
        display_name text COLLATE "C",
        trace_id text COLLATE "C",
        parent_id text COLLATE "C",
        thread_id text COLLATE "C",
        turn_id text COLLATE "C",
        user_id text COLLATE "C",
        run_id text COLLATE "C",
        exception text COLLATE "C",
        attributes json,
        inputs json,
        output json,
        summary json,
        otel_dump json,
        CONSTRAINT calls_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX calls_started_idx ON calls (project_id, started_at, id)`);
    await runner.query(`CREATE INDEX calls_trace_idx ON calls (project_id, trace_id)`);
    await runner.query(
      `CREATE INDEX calls_parent_idx ON calls (project_id, parent_id) WHERE parent_id IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE calls`);
    await runner.query(`DROP TABLE idempotency_keys`);
    await runner.query(`DROP TABLE api_keys`);
    await runner.query(`DROP FUNCTION skein_compare(text, text)`);
    await runner.query(`DROP FUNCTION skein_time(text)`);
    await runner.query(`DROP FUNCTION skein_time(numeric)`);
    await runner.query(`DROP FUNCTION skein_number(text)`);
    await runner.query(`DROP FUNCTION skein_safe_json(json)`);
  }
}
