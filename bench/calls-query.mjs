// Measures a filter inside free-form JSON on 100,000 calls, without and with an index. Then measures the cost of
// `include_costs` and `include_feedback` in a stream of all calls. Works on an empty database (BENCH_DATABASE_URL), or
// on an embedded one of its own.
//
//     npm run build && node bench/calls-query.mjs
import { rmSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../dist/ormconfig.js';
import { loadConfig } from '../dist/src/platform/config/config.js';
import { callRows } from '../dist/src/tracing/calls/read/call-lists.query.js';
import { CallLists } from '../dist/src/tracing/calls/read/call-lists.service.js';
import { CallPrices } from '../dist/src/tracing/calls/read/call-prices.service.js';
import { Database } from '../dist/src/platform/database/database.js';
import { openEmbeddedPostgres } from '../dist/src/platform/postgres/embedded-postgres.js';
import { migrate } from '../dist/src/platform/database/migrate.js';
import { sql } from '../dist/src/platform/query/sql.js';
import { dataFolder } from './support.mjs';

const CALLS = 100_000;
const project_id = 'bench/calls';

const server = process.env.BENCH_DATABASE_URL
  ? { url: process.env.BENCH_DATABASE_URL, stop: async () => {} }
  : await embedded();
const dataSource = await new DataSource(dataSourceOptions(server.url)).initialize();
const database = new Database(dataSource, loadConfig(process.env));
await migrate(dataSource);
await fill();

const equals = (field, literal) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: literal }] },
});
const byModel = callRows({ project_id, query: equals('inputs.model.name', 'gpt-7') }).query;
const byNoModel = callRows({ project_id, query: equals('inputs.model.name', 'none') }).query;
const byColumn = callRows({ project_id, query: equals('op_name', 'op-7') }).query;
const byFeedback = callRows({
  project_id,
  query: equals('feedback.[svc.note.1].payload.note', 'n7'),
}).query;

await filters('no index on inputs', { byModel, byNoModel, byColumn, byFeedback });
await plan(byModel);
const created = performance.now();
await database.query(sql`
  CREATE INDEX bench_model ON calls (project_id,
    ((CASE WHEN is_opaque THEN skein_safe_json(inputs) ELSE inputs END) #>> '{model,name}'))`);
await database.query(sql`ANALYZE calls`);
console.log(
  `\nexpression index on inputs.model.name: made in ${Math.round(performance.now() - created)} ms, ${await sizeOf('bench_model')}`,
);
await filters('with it', { byModel, byNoModel });
await plan(byModel);
await database.query(sql`DROP INDEX bench_model`);

const calls = new CallLists(database, new CallPrices(database, null));
const streams = {};
for (let round = 0; round < 3; round++)
  for (const extras of [{}, { include_costs: true }, { include_feedback: true }]) {
    const name = Object.keys(extras)[0] ?? 'plain';
    const start = performance.now();
    let bytes = 0;
    for await (const batch of await calls.stream({ project_id, ...extras }))
      bytes += batch.bytes.length;
    (streams[name] ??= []).push(performance.now() - start);
    streams[`${name} MB`] = Math.round(bytes / 1e6);
  }
console.log(`\nstream of all ${CALLS} calls, best of 3`);
console.table(
  ['plain', 'include_costs', 'include_feedback'].map((name) => {
    const ms = Math.min(...streams[name]);
    return {
      name,
      ms: Math.round(ms),
      calls_per_s: Math.round(CALLS / (ms / 1000)),
      MB: streams[`${name} MB`],
    };
  }),
);

await dataSource.destroy();
await server.stop();

async function embedded() {
  const dataDir = dataFolder();
  const postgres = await openEmbeddedPostgres({ dataDir });
  return {
    url: postgres.url,
    async stop() {
      await postgres.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * Stores calls with 1 KB of inputs and 20 models. Their usage is of a model priced by the project, and of a built-in
 * one. Every tenth call has feedback.
 */
async function fill() {
  await database.query(sql`
    INSERT INTO calls (project_id, id, op_name, trace_id, started_at, ended_at, user_id, attributes, inputs, output, summary)
    SELECT ${project_id}, 'call-' || n, 'op-' || n % 20, 'trace-' || n / 10,
      '2026-01-01'::timestamptz + n * interval '1 second', '2026-01-01'::timestamptz + n * interval '1 second', 'bench', '{}',
      format('{"messages":[{"role":"user","content":"%s"}],"model":{"name":"gpt-%s","temperature":0.5}}', repeat('lorem ipsum ', 80), n % 20)::json,
      '{"text":"dolor sit amet"}',
      '{"usage":{"of-ours":{"prompt_tokens":100,"completion_tokens":20},"gpt-4o":{"prompt_tokens":100,"completion_tokens":20}}}'
    FROM generate_series(1, ${CALLS}) n`);
  await database.query(sql`
    INSERT INTO feedback (project_id, id, feedback_type, ref, user_id, payload)
    SELECT ${project_id}, 'f' || n, 'svc.note.1', 'svc:///' || ${project_id} || '/call/call-' || n * 10, 'bench', format('{"note":"n%s"}', n % 20)::json
    FROM generate_series(1, ${CALLS / 10}) n`);
  await database.query(sql`
    INSERT INTO costs SELECT ${project_id}, 'c' || n, 'of-ours', '2025-01-01'::timestamptz + n * interval '1 day', 'x', 0.001, 0.002, NULL, NULL, 'USD', 'USD'
    FROM generate_series(1, 100) n`);
  await database.query(sql`VACUUM ANALYZE calls, feedback, costs`);
}

async function filters(title, queries) {
  const results = {};
  for (let round = 0; round < 3; round++)
    for (const [name, query] of Object.entries(queries)) {
      const start = performance.now();
      const { length } = await database.query(query);
      const ms = performance.now() - start;
      results[name] = {
        rows: length,
        ms: Math.min(results[name]?.ms ?? Infinity, Math.round(ms * 10) / 10),
      };
    }
  console.log(`\n${title}, best of 3`);
  console.table(results);
}

async function plan(query) {
  const { text, values } = query.toQuery();
  const { rows } = await database['connections'].query(
    `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${text}`,
    values,
  );
  for (const row of rows) console.log(`  ${row['QUERY PLAN'].slice(0, 150)}`);
}

async function sizeOf(index) {
  const [row] = await database.query(
    sql`SELECT pg_size_pretty(pg_relation_size(${index}::regclass)) AS size`,
  );
  return row.size;
}
