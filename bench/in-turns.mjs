// The same load on two services in turns, of two builds or on two databases: how many requests, and CPU of Node and of
// PostgreSQL, of all nodes of a cluster together. Prints Markdown.
//   node bench/in-turns.mjs --build ../before/dist                 this build beside another one, each on its own PostgreSQL
//   node bench/in-turns.mjs --url postgres://… --other-url postgres://coordinator…      empty databases on this machine
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { newSecret } from '../dist/src/platform/auth/secret.js';
import { cpuMeter, dataFolder, nodesOf, postmasterOf, started } from './support.mjs';
import { callBodies, STARTED_AT } from './write-bodies.mjs';

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

/** A service, and the processes whose children are its PostgreSQL. */
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
  return { child, address, servers, close };
}

const services = [
  await serviceOn(resolve(import.meta.dirname, '../dist'), options.url),
  await serviceOn(options.build, options['other-url']),
];

/** A round of requests: how many went through, in how many seconds, with how much CPU. */
async function round({ child, address, servers }, { path, connections, body }) {
  const service = cpuMeter(child.pid);
  const databases = servers.map((pid) => cpuMeter(pid));
  const result = await autocannon({
    url: address,
    connections,
    duration: Number(options.seconds),
    requests: [
      { method: 'POST', path, headers, setupRequest: (sent) => ({ ...sent, body: body() }) },
    ],
  });
  if (result.non2xx + result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} errors`);
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

const { starts, batch } = callBodies(PROJECT, 100);
const one = callBodies(PROJECT, 1);
/** @type {[string, string, number, () => Buffer | string, number][]} */
const KINDS = [
  ['batch of 100 starts, a call', '/call/upsert_batch', 8, starts, 100],
  ['batch of 100 starts and ends, a call', '/call/upsert_batch', 8, batch, 100],
  ['batch of 100 starts that name no trace, a call', '/call/upsert_batch', 8, untraced, 100],
  ['one start', '/call/upsert_batch', 64, one.starts, 1],
  [
    'a page of 50 calls by their ids',
    '/calls/stream_query',
    8,
    page({ limit: 50, sort_by: [{ field: 'id', direction: 'asc' }] }),
    1,
  ],
  ['how many calls, up to 1,000', '/calls/query_stats', 8, page({ limit: 1000 }), 1],
];
function untraced() {
  const start = { project_id: PROJECT, op_name: 'work', started_at: STARTED_AT };
  const item = () => ({ mode: 'start', req: { start: { ...start, id: randomUUID() } } });
  return JSON.stringify({ batch: Array.from({ length: 100 }, item) });
}
function page(query) {
  const text = JSON.stringify({ project_id: PROJECT, ...query });
  return () => text;
}

try {
  console.log(
    `Node ${process.versions.node}, ${options.rounds} rounds of ${options.seconds} s\n\n` +
      '| | this /s | CPU µs, Node + PostgreSQL | the other /s | CPU µs | CPU, this by the other | rate |\n|---|--:|--:|--:|--:|--:|--:|',
  );
  for (const [name, path, connections, body, unitsEach] of KINDS.filter(([kind]) =>
    kind.includes(options.only),
  )) {
    const load = { path, connections, body };
    for (const service of services) await round(service, load); // does not count
    const done = [[], []];
    for (let n = 0; n < Number(options.rounds); n++)
      for (const i of n % 2 ? [1, 0] : [0, 1]) done[i].push(await round(services[i], load));
    const [own, other] = done.map((rounds) => figures(rounds, unitsEach));
    console.log(
      `| ${name} | ${own.text} | ${other.text} | **${(own.cpu / other.cpu).toFixed(2)}** | ${(own.rate / other.rate).toFixed(2)} |`,
    );
  }
} finally {
  for (const service of services) await service.close();
}
