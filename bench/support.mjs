// Shared code of the scripts in this folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../dist/ormconfig.js';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { migrate } from '../dist/src/platform/database/migrate.js';
import { openEmbeddedPostgres } from '../dist/src/platform/postgres/embedded-postgres.js';

/** Makes a folder for an embedded PostgreSQL that PostgreSQL's account can reach. Remove it afterwards. */
export function dataFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'skein-bench-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** A port that was free a moment ago. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
  probe.close();
  await once(probe, 'close');
  return port;
}

/**
 * Sends POST requests for some seconds, each with a new body. Further options are autocannon's.
 * @param {{ path: string, headers: object, body: () => Buffer | string, seconds: number, url: string,
 *   connections: number, setupClient?: (client: any) => void }} load
 * @throws Error when a request was refused, or none was answered
 */
export async function posted({ path, headers, body, seconds, ...options }) {
  const setupRequest = (sent) => ({ ...sent, body: body() });
  const requests = [{ method: 'POST', path, headers, setupRequest }];
  const result = await autocannon({ ...options, duration: seconds, requests });
  if (result.non2xx + result.errors > 0 || result['2xx'] === 0)
    throw new Error(
      `${path}: ${result['2xx']} answered, ${result.non2xx} refused, ${result.errors} errors`,
    );
  return result;
}

/** Makes the schema in a database. */
export async function withSchema(url) {
  const dataSource = await new DataSource(dataSourceOptions(url)).initialize();
  await migrate(dataSource);
  await dataSource.destroy();
}

/**
 * Starts a Node process with the flag of `npm start`, and waits until it listens. `file` is relative to this folder.
 */
export async function started(file, env) {
  const argv = ['--max-semi-space-size=32', fileURLToPath(new URL(file, import.meta.url))];
  const child = spawn(process.execPath, argv, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  for (;;) {
    const url = /listens on (http:\/\/[^\s"]+)/.exec(output)?.[1];
    if (url) return { child, url };
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${file} ended: ${output}`))),
    ]);
  }
}

/**
 * Starts the service on an embedded PostgreSQL of its own, and connects a client to its database. `headers` are those
 * of a JSON request with the admin key. `build` is the folder of another build. `close` ends both and removes the data.
 */
export async function serviceAndDatabase(settings = {}, build = '../dist') {
  const dataDir = dataFolder();
  const postgres = await openEmbeddedPostgres({ dataDir });
  const key = newSecret();
  const { child, url } = await started(`${build}/src/main.js`, {
    DATABASE_URL: postgres.url,
    BOOTSTRAP_API_KEY: key,
    PORT: '0',
    LOG_FORMAT: 'json',
    ...settings,
  });
  child.stdout.resume();
  const client = new pg.Client(postgres.url);
  await client.connect();
  const headers = {
    'content-type': 'application/json',
    authorization: `Basic ${Buffer.from(`me:${key}`).toString('base64')}`,
  };
  const close = async () => {
    await client.end();
    child.kill('SIGTERM');
    await once(child, 'exit');
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { child, url, key, headers, client, databaseUrl: postgres.url, close };
}

/**
 * Returns a function for the CPU seconds from now on: of a process, and of its children, which are its PostgreSQL
 * (Linux).
 */
export function cpuMeter(pid) {
  const before = cpuSeconds(pid);
  return () => {
    const after = cpuSeconds(pid);
    return {
      service: after.service - before.service,
      postgres: after.postgres - before.postgres,
    };
  };
}

/** Clock ticks per second: 100 on every Linux that Node runs on. */
const TICKS = 100;

function cpuSeconds(pid) {
  for (;;) {
    const processes = readProcesses();
    const below = [...processes.keys()].filter((id) => isBelow(processes, id, pid));
    // the time of a process that has just ended may be missing, or be in its parent's time too
    if (below.some((id) => !existsSync(`/proc/${id}`))) continue;
    const postgres = below.map((id) => processes.get(id).own + processes.get(id).ended);
    const { own, ended } = processes.get(pid);
    return { service: own, postgres: postgres.reduce((sum, seconds) => sum + seconds, ended) };
  }
}

function readProcesses() {
  const processes = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      const [own, ended] = [fields[11] + fields[12], fields[13] + fields[14]];
      processes.set(Number(name), { parent: fields[1], own: own / TICKS, ended: ended / TICKS });
    } catch {
      return readProcesses(); // it has ended, and its time may not be in its parent's time yet
    }
  }
  return processes;
}

function isBelow(processes, id, ancestor) {
  for (let at = processes.get(id); at; at = processes.get(at.parent))
    if (at.parent === ancestor) return true;
  return false;
}

/** Runs a statement and returns its rows. */
export async function ask(url, statement) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/**
 * The URLs of a cluster's nodes, coordinator first, from the coordinator's URL. For another server its own URL only.
 */
export async function nodesOf(url) {
  const [{ nodes }] = await ask(url, `SELECT to_regclass('pg_dist_node') AS nodes`);
  if (!nodes) return [url];
  const rows = await ask(
    url,
    'SELECT nodename AS hostname, nodeport AS port FROM pg_dist_node ORDER BY groupid',
  );
  return rows.map((node) => String(Object.assign(new URL(url), node)));
}

/** The process id of a PostgreSQL server on this machine. */
export async function postmasterOf(url) {
  const [{ status }] = await ask(url, `SELECT pg_read_file('/proc/self/status') AS status`);
  return Number(/^PPid:\s+(\d+)/m.exec(status)[1]);
}
