// Prints what a trigram index on a text of calls would give `$contains`, and its cost.
//
//     npm run build && node bench/text-search.mjs [calls=100000]
import { serviceAndDatabase } from './support.mjs';

const CALLS = Number(process.argv[2] ?? 100_000);
const WRITTEN = 5000;
const ROUNDS = 3;
const VALUE = `(CASE WHEN is_opaque THEN skein_safe_json(output) ELSE output END #>> '{text}'::text[])`;
const service = await serviceAndDatabase();
const { client } = service;

let batches = 0;
/** Stores calls with 1 KB of text each: 150 words out of a hundred thousand. */
const write = (calls) =>
  client.query(`
    INSERT INTO calls (project_id, id, op_name, trace_id, started_at, inputs, output)
    SELECT 'bench/text', '${++batches}-' || n, 'op', 't', now(), '{}', json_build_object('text',
      (SELECT string_agg(substr(md5(((n * 131 + i * 7919) % 100000)::text), 1, 3 + i % 7), ' ') FROM generate_series(1, 150) i))
    FROM generate_series(1, ${calls}) n`);
async function ms(work, rounds = ROUNDS) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return Math.round(Math.min(...times));
}
const find = (condition) => () =>
  client.query(`SELECT count(*) FROM calls WHERE project_id = 'bench/text' AND ${condition}`);
const measured = async () => ({
  'strpos, ms': await ms(find(`strpos(${VALUE}, 'zzz9q') > 0`)),
  'LIKE, ms': await ms(find(`${VALUE} LIKE '%zzz9q%'`)),
  [`write ${WRITTEN} calls, ms`]: await ms(() => write(WRITTEN)),
});
try {
  await client.query('CREATE EXTENSION pg_trgm');
  await write(CALLS);
  await client.query('VACUUM ANALYZE calls');
  const without = await measured();
  const made = await ms(
    () =>
      client.query(
        `CREATE INDEX bench_text ON calls USING gin (${VALUE} gin_trgm_ops) WHERE project_id = 'bench/text'`,
      ),
    1,
  );
  const withIndex = await measured();
  const { rows } = await client.query(`
    SELECT round(sum(octet_length(output::text)) / 1048576.0) AS text, round(pg_relation_size('bench_text') / 1048576.0) AS index
    FROM calls`);
  console.table({ without, 'with the index': withIndex });
  console.log(
    `made in ${made / 1000} s; ${rows[0].index} MiB for ${rows[0].text} MiB of documents`,
  );
} finally {
  await service.close();
}
