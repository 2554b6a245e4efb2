/**
 * Measures reading a path of a `json` column, with and without guards against text that PostgreSQL cannot parse or
 * cast. Makes and drops the schema bench_json_path.
 *
 *     DATABASE_URL=postgres://… node bench/json-path.mjs
 */
import pg from 'pg';

const ROWS = 100_000;
const ROUNDS = 5;
const NUMBER = '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$';
const BOUNDED = NUMBER.replaceAll('[0-9]+', '[0-9]{1,200}');

const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
await client.query(String.raw`
  DROP SCHEMA IF EXISTS bench_json_path CASCADE;
  CREATE SCHEMA bench_json_path;
  SET search_path = bench_json_path;
  SET max_parallel_workers_per_gather = 0;
  SET jit = off;
  CREATE FUNCTION safe_sql(document json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(regexp_replace(regexp_replace(document::text,
      '(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})', '\1\\p\2\3', 'g'),
      '(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
      '(?<!\\)((?:\\\\)*)\\p([0-9a-fA-F]{4})([0-9a-fA-F]{4})', '\1\\u\2\\u\3', 'g')::json $$;
  CREATE FUNCTION path_caught(document json, path text[]) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN RETURN document #>> path; EXCEPTION WHEN OTHERS THEN RETURN safe_sql(document) #>> path; END $$;
  CREATE FUNCTION number_sql(input text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN length(input) <= 400 AND input ~ '${NUMBER}' THEN input::numeric END $$;
  CREATE FUNCTION number_plpgsql(input text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN RETURN CASE WHEN length(input) <= 400 AND input ~ '${NUMBER}' THEN input::numeric END; END $$;
  CREATE FUNCTION number_caught(input text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN RETURN input::numeric; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
  CREATE TABLE rows (id int, is_opaque boolean NOT NULL DEFAULT false, inputs json NOT NULL);
  INSERT INTO rows (id, inputs) SELECT i, json_build_object(
    'model', json_build_object('name', 'm' || i % 7, 'temperature', i % 10 / 10.0),
    'messages', (SELECT json_agg(json_build_object('role', 'user', 'content', md5((i * 20 + j)::text) || md5(j::text)))
                 FROM generate_series(1, 17) j))
  FROM generate_series(1, ${ROWS}) i`);
await client.query('VACUUM ANALYZE rows');

const path = `#>> '{model,temperature}'`;
const guarded = (safe) => `(CASE WHEN is_opaque THEN ${safe}(inputs) ELSE inputs END ${path})`;
const value = guarded('safe_sql');
const cases = {
  'reading a path': {
    'no guard (fails on opaque text)': `(inputs ${path}) = '0.5'`,
    'no guard, -> and ->>': `(inputs -> 'model' ->> 'temperature') = '0.5'`,
    'CASE on is_opaque': `${value} = '0.5'`,
    'CASE on a test of the text': String.raw`(CASE WHEN inputs::text ~ '\\u(?:0000|[dD][89a-fA-F])' THEN safe_sql(inputs) ELSE inputs END ${path}) = '0.5'`,
    'CASE on strpos of the text': String.raw`(CASE WHEN strpos(inputs::text, '\u') > 0 THEN safe_sql(inputs) ELSE inputs END ${path}) = '0.5'`,
    'always through the safe function': `(safe_sql(inputs) ${path}) = '0.5'`,
    'plpgsql with an exception block': `path_caught(inputs, '{model,temperature}') = '0.5'`,
  },
  'as a number, read through CASE on is_opaque': {
    'no guard (fails on text)': `${value}::numeric = 0.5`,
    'substring(… FROM pattern)::numeric': `substring(${value} FROM '${NUMBER}')::numeric = 0.5`,
    'the same, digits bounded in the pattern': `substring(${value} FROM '${BOUNDED}')::numeric = 0.5`,
    'CASE WHEN … ~ pattern THEN …::numeric': `(CASE WHEN ${value} ~ '${NUMBER}' THEN ${value}::numeric END) = 0.5`,
    'SQL function with that CASE': `number_sql(${value}) = 0.5`,
    'plpgsql function with that CASE': `number_plpgsql(${value}) = 0.5`,
    'plpgsql with an exception block': `number_caught(${value}) = 0.5`,
  },
};

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
async function measure(condition) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await client.query(`SELECT count(*) FROM rows WHERE ${condition}`);
    times.push(performance.now() - start);
  }
  return Math.round(median(times));
}

const { rows } = await client.query(
  `SELECT current_setting('server_version') AS version, avg(length(inputs::text))::int AS bytes FROM rows`,
);
console.log(
  `PostgreSQL ${rows[0].version}, ${ROWS} rows of ${rows[0].bytes} bytes, median of ${ROUNDS}`,
);
for (const [title, conditions] of Object.entries(cases)) {
  const table = {};
  for (const [name, condition] of Object.entries(conditions))
    table[name] = { ms: await measure(condition) };
  console.log(title);
  console.table(table);
}
await client.query('UPDATE rows SET is_opaque = true');
await client.query('VACUUM FULL ANALYZE rows');
console.log(`every row opaque: ${await measure(`${value} = '0.5'`)} ms`);
await client.query('DROP SCHEMA bench_json_path CASCADE');
await client.end();
