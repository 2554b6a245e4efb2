// Measures backup and restore of a large database: time, size, memory, equality. Prints Markdown.
//
//     npm run build && node bench/backup.mjs [--calls 1000000] [--megabytes 2048] [--external postgres://…]
//
// `--external` names an empty database. The backup is restored there, backed up again, and restored into a new folder.
import { fileURLToPath } from 'node:url';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { embeddedPostgresUrl } from '../dist/src/platform/postgres/embedded-postgres.js';
import { openEmbeddedPostgres } from '../dist/src/platform/postgres/embedded-postgres.js';
import { dataFolder, started } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    megabytes: { type: 'string', default: '2048' },
    external: { type: 'string' },
  },
});
const CALLS = Number(options.calls);
const MIB = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const CHUNKS = (Number(options.megabytes) * MIB) / CHUNK_BYTES;
const PROJECT = 'acme/bench';

const folder = dataFolder();
const files = dataFolder();
const service = await started('../dist/src/main.js', { PORT: '0', DATA_DIR: folder });
const source = await connected(await embeddedPostgresUrl(folder));
await fill(source);

const rows = [];
const backupFile = join(files, 'a.skein');
const before = await sumsOf(source);
await measured('backup beside the running service', ['backup', backupFile], { DATA_DIR: folder });
console.log(`\nThe file has ${(statSync(backupFile).size / MIB).toFixed(0)} MiB.`);
await source.end();
service.child.kill('SIGTERM');
await once(service.child, 'exit');

await restoredInto('a new folder', backupFile);
if (options.external) {
  const env = { DATABASE_URL: options.external };
  await measured('restore into the external database', ['restore', backupFile], env);
  const external = await connected(options.external);
  const { rows: found } = await external.query('SHOW server_version');
  assertSame(before, await sumsOf(external), `PostgreSQL ${found[0].server_version}`);
  await external.end();
  const second = join(files, 'b.skein');
  await measured('backup of the external database', ['backup', second], env);
  await restoredInto('a new folder, from the external database', second);
}

console.log(
  `\n| ${CALLS} calls, 10,000 objects, ${options.megabytes} MB of files and training bodies | seconds | peak RSS MiB |`,
);
console.log('| --- | ---: | ---: |');
for (const { name, seconds, rss } of rows)
  console.log(`| ${name} | ${seconds.toFixed(1)} | ${rss.toFixed(0)} |`);
for (const path of [folder, files]) rmSync(path, { recursive: true, force: true });

async function connected(url) {
  const client = new pg.Client(url);
  await client.connect();
  return client;
}

async function fill(client) {
  await client.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, started_at, ended_at, thread_id, turn_id, attributes, inputs, output, summary)
     SELECT $1, 'c' || n, 'op' || n % 50, 't' || n / 10, timestamptz '2026-01-01' + n * interval '1 s',
       timestamptz '2026-01-01' + (n + 1) * interval '1 s', 'thread' || n / 100, 'c' || n, '{}',
       json_build_object('text', md5(n::text) || repeat(md5((n + 1)::text), 20)), '{"a":1.0}', '{}'
     FROM generate_series(1, $2::int) n`,
    [PROJECT, CALLS],
  );
  await client.query(
    `INSERT INTO object_versions (project_id, object_id, digest, version_index, is_latest, kind, val, size_bytes, created_at)
     SELECT $1, 'o' || n / 10, md5(n::text), n % 10, n % 10 = 9, 'object', json_build_object('n', n), 20, now()
     FROM generate_series(0, 9999) n`,
    [PROJECT],
  );
  const owner = '018f0000-0000-7000-8000-000000000000';
  for (let index = 0; index < CHUNKS; index++)
    await client.query(
      index % 2 === 0
        ? 'INSERT INTO file_chunks (project_id, upload_id, chunk_index, bytes) VALUES ($1, $2, $3, $4)'
        : 'INSERT INTO body_chunks (project_id, batch_id, seq, text) VALUES ($1, $2, $3, $4)',
      [PROJECT, owner, index, randomBytes(CHUNK_BYTES)],
    );
  // waits until the service has counted the threads, because no table changes after that
  while ((await client.query('SELECT 1 FROM thread_marks LIMIT 1')).rowCount > 0) await sleep(500);
}

/** The number of rows of each table, with a checksum that does not depend on their order. */
async function sumsOf(client) {
  const { rows: tables } = await client.query(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const sums = {};
  for (const { tablename } of tables) {
    const { rows: found } = await client.query(
      `SELECT count(*) AS rows, sum(hashtextextended(t::text, 0)::numeric) AS sum FROM ${tablename} t`,
    );
    sums[tablename] = `${found[0].rows} ${found[0].sum}`;
  }
  return sums;
}

function assertSame(expected, found, where) {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)]);
  for (const name of names)
    if (expected[name] !== found[name]) throw new Error(`${name} differs on ${where}`);
  console.log(`${where}: all ${names.size} tables are equal.`);
}

async function restoredInto(name, file) {
  const target = dataFolder();
  await measured(`restore into ${name}`, ['restore', file], { DATA_DIR: target });
  const server = await openEmbeddedPostgres({ dataDir: target });
  const client = await connected(server.url);
  assertSame(before, await sumsOf(client), name);
  await client.end();
  await server.stop();
  rmSync(target, { recursive: true, force: true });
}

/** Runs a command in a process of its own and measures its memory. */
async function measured(name, [command, file], env) {
  const from = performance.now();
  const program = fileURLToPath(
    new URL(`../dist/src/server/commands/${command}.cli.js`, import.meta.url),
  );
  const child = spawn(process.execPath, [program, file], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  let rss = 0;
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      rss = Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024;
    } catch {
      // the process has ended
    }
  }, 50);
  const [code] = await once(child, 'exit');
  clearInterval(watch);
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  rows.push({ name, seconds: (performance.now() - from) / 1000, rss });
}
