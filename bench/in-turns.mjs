// Sends the same load in turns to two services, of two builds or on two databases. Measures requests, and CPU of Node
// and of PostgreSQL (of all nodes of a cluster together). Prints Markdown. The databases must be empty and on this
// machine.
//
//     node bench/in-turns.mjs --build ../before/dist                 this build and another, each on its own PostgreSQL
//     node bench/in-turns.mjs --url postgres://… --other-url postgres://coordinator…
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { cpuMeter, dataFolder, nodesOf, postmasterOf, posted, started } from './support.mjs';
import { callBodies, MESSAGES, STARTED_AT } from './write-bodies.mjs';

const { values: options } = parseArgs({
  options: {
    build: { type: 'string', default: resolve(import.meta.dirname, '../dist') },
    url: { type: 'string' },
    'other-url': { type: 'string' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '6' },
    only: { type: 'string', default: '' },
  },
});
const PROJECT = 'acme/turns';
const key = newSecret();
const headers = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`,
};

/** Starts a service, and finds the processes whose children are its PostgreSQL. */
async function serviceOn(build, url) {
  const dataDir = dataFolder();
  const { child, url: address } = await started(resolve(build, 'src/main.js'), {
    PORT: '0',
    BOOTSTRAP_API_KEY: key,
    LOG_FORMAT: 'json',
    ...(url ? { DATABASE_URL: url } : { DATA_DIR: dataDir }),
  });
  child.stdout.resume();
  const servers = url ? await Promise.all((await nodesOf(url)).map(postmasterOf)) : [child.pid];
  const close = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(dataDir, { recursive: true });
  };
  const database = url ? { connectionString: url } : embeddedIn(join(dataDir, 'pgdata'));
  return { child, address, servers, database, close };
}

/** The connection options of the embedded PostgreSQL that runs on a folder. */
function embeddedIn(folder) {
  const [, , , port, socketFolder] = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split(
    '\n',
  );
  const password = readFileSync(join(folder, 'skein.password'), 'utf8').trim();
  return {
    host: socketFolder || '127.0.0.1',
    port: Number(port),
    user: 'skein',
    database: 'postgres',
    password,
  };
}

/** Analyses the tables, as autovacuum does a minute after a load. Otherwise the comparison depends on when it runs. */
async function analyse({ database }) {
  const client = new pg.Client(database);
  await client.connect();
  await client.query('ANALYZE');
  await client.end();
}

const services = [
  await serviceOn(resolve(import.meta.dirname, '../dist'), options.url),
  await serviceOn(options.build, options['other-url']),
];

/**
 * Runs a round of requests. Returns the number of successes, the seconds and the CPU.
 * @param {{ child: import('node:child_process').ChildProcess, address: string, servers: number[] }} service
 * @param {{ path: string, connections: number, body: () => Buffer | string, more?: object }} load
 */
async function round({ child, address, servers }, { path, connections, body, more }) {
  const service = cpuMeter(child.pid);
  const databases = servers.map((pid) => cpuMeter(pid));
  const result = await posted({
    url: address,
    connections,
    seconds: Number(options.seconds),
    path,
    headers: { ...headers, ...more },
    body,
  });
  const postgres = databases.reduce((sum, used) => sum + used().postgres, 0);
  return {
    requests: result['2xx'],
    seconds: result.duration,
    service: service().service,
    postgres,
  };
}

const sumOf = (rounds, of) => rounds.reduce((sum, one) => sum + one[of], 0);
function figures(rounds, unitsEach) {
  const units = sumOf(rounds, 'requests') * unitsEach;
  const micros = (of) => (1e6 * sumOf(rounds, of)) / units;
  return {
    rate: units / sumOf(rounds, 'seconds'),
    cpu: micros('service') + micros('postgres'),
    text: `${Math.round(units / sumOf(rounds, 'seconds')).toLocaleString('en')} | ${micros('service').toFixed(0)} + ${micros('postgres').toFixed(0)}`,
  };
}

const { starts, batch, protobuf } = callBodies(PROJECT, 100);
const one = callBodies(PROJECT, 1);
const BY_ID = [{ field: 'id', direction: 'asc' }];
/** Number of calls that a stream returns. They are turns of threads of ten. */
const STREAMED = 20_000;
const STORED = 'acme/stored';

/**
 * The loads to measure: the units of a request, and the data that is stored before.
 * @type {{ name: string, path: string, connections: number, body: () => Buffer | string, units: number, more?: object,
 *   before?: boolean }[]}
 */
const LOADS = [
  {
    name: 'batch of 100 starts, a call',
    path: '/call/upsert_batch',
    connections: 8,
    body: starts,
    units: 100,
  },
  {
    name: 'batch of 100 starts and ends, a call',
    path: '/call/upsert_batch',
    connections: 8,
    body: batch,
    units: 100,
  },
  {
    name: 'batch of 100 starts that name no trace, a call',
    path: '/call/upsert_batch',
    connections: 8,
    body: untraced,
    units: 100,
  },
  {
    name: 'OTLP protobuf of 100 spans, a call',
    path: '/otel/v1/traces',
    connections: 8,
    body: protobuf,
    units: 100,
    more: { 'content-type': 'application/x-protobuf', project_id: PROJECT },
  },
  { name: 'one start', path: '/call/upsert_batch', connections: 64, body: one.starts, units: 1 },
  {
    name: 'a page of 50 calls by their ids',
    path: '/calls/stream_query',
    connections: 8,
    body: asked(PROJECT, { limit: 50, sort_by: BY_ID }),
    units: 1,
  },
  {
    name: 'how many calls, up to 1,000',
    path: '/calls/query_stats',
    connections: 8,
    body: asked(PROJECT, { limit: 1000 }),
    units: 1,
  },
  {
    name: `a stream of ${STREAMED.toLocaleString('en')} calls, a call`,
    path: '/calls/stream_query',
    connections: 1,
    body: asked(STORED),
    units: STREAMED,
    before: true,
  },
  {
    name: `a page of 50 of ${(STREAMED / 10).toLocaleString('en')} threads`,
    path: '/threads/stream_query',
    connections: 8,
    body: asked(STORED, { limit: 50 }),
    units: 1,
    before: true,
  },
];

/** Stores turns, ten a thread. */
async function store({ address }) {
  const turn = (n) => {
    const id = `turn-${n}`;
    const its = { project_id: STORED, id };
    const started_at = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
    const start = {
      ...its,
      trace_id: `trace-${n}`,
      turn_id: id,
      thread_id: `thread-${n % (STREAMED / 10)}`,
      op_name: 'chat',
      started_at,
      attributes: {},
      inputs: { messages: MESSAGES },
    };
    const end = { ...its, ended_at: started_at, output: { text: 'an answer' }, summary: {} };
    return [
      { mode: 'start', req: { start } },
      { mode: 'end', req: { end } },
    ];
  };
  for (let n = 0; n < STREAMED; n += 1000) {
    const items = Array.from({ length: 1000 }, (_, i) => turn(n + i)).flat();
    const body = JSON.stringify({ batch: items });
    const answer = await fetch(`${address}/call/upsert_batch`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(await answer.text());
    await answer.arrayBuffer();
  }
}

function untraced() {
  const start = { project_id: PROJECT, op_name: 'work', started_at: STARTED_AT };
  const item = () => ({ mode: 'start', req: { start: { ...start, id: randomUUID() } } });
  return JSON.stringify({ batch: Array.from({ length: 100 }, item) });
}
function asked(project_id, query = {}) {
  const text = JSON.stringify({ project_id, ...query });
  return () => text;
}

try {
  console.log(
    `Node ${process.versions.node}, ${options.rounds} rounds of ${options.seconds} s\n\n` +
      '| | this /s | CPU µs, Node + PostgreSQL | the other /s | CPU µs | CPU, this by the other | rate |\n|---|--:|--:|--:|--:|--:|--:|',
  );
  let isStored = false;
  for (const { name, units, before, ...load } of LOADS) {
    if (!name.includes(options.only)) continue;
    if (before && !isStored) {
      for (const service of services) await store(service);
      await pause(15_000); // the service refreshes thread statistics meanwhile
      for (const service of services) await analyse(service);
      isStored = true;
    }
    for (const service of services) await round(service, load); // this round does not count
    const done = [[], []];
    for (let n = 0; n < Number(options.rounds); n++)
      for (const i of n % 2 ? [1, 0] : [0, 1]) done[i].push(await round(services[i], load));
    const [own, other] = done.map((rounds) => figures(rounds, units));
    console.log(
      `| ${name} | ${own.text} | ${other.text} | **${(own.cpu / other.cpu).toFixed(2)}** | ${(own.rate / other.rate).toFixed(2)} |`,
    );
  }
} finally {
  for (const service of services) await service.close();
}
