import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openTestDatabase, unlessCluster } from '../support/database.js';
import { CLIENTS, PROJECT, readiness, writers } from '../support/outage.js';
import { relayTo } from '../support/relay.js';
import { aFolder, type Server, startServer } from '../support/server.js';
import { until } from '../support/until.js';

/*
 * Drills of a database that stops answering while clients write. Each client sends its next call when the last answer
 * has come.
 */

/** How long the database is away. It is longer than any request may wait. */
const AWAY_MS = 20_000;
const NOTICED_WITHIN_MS = 15_000;
const ANSWERED_WITHIN_MS = 15_000;
const AT_ONCE_MS = 5000;
const MIB = 1024 * 1024;

interface Incident {
  database: 'reachable' | 'unreachable';
  writes: 'unknown' | 'locked';
  line: RegExp;
  begin: () => Promise<void> | void;
  end: () => Promise<void> | void;
}

async function residentBytes(server: Server): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)![1]);
}

async function drill(server: Server, incident: Incident): Promise<void> {
  await follow(server, incident).catch((error: Error) => {
    error.message += `\n${server.output().slice(-5000)}`;
    throw error;
  });
}

async function follow(server: Server, incident: Incident): Promise<void> {
  const load = writers(server);
  await until(() => load.acknowledged.length > 200);
  const memory = await residentBytes(server);

  const beganAt = performance.now();
  await incident.begin();
  await until(async () => (await readiness(server)).status === 503);
  const noticedMs = performance.now() - beganAt;
  const { body } = await readiness(server);
  expect(body).toMatchObject({ database: incident.database, writes: incident.writes });
  expect(noticedMs).toBeLessThan(NOTICED_WITHIN_MS);

  await until(() => incident.line.test(server.output()));
  const toldAt = performance.now();
  await pause(AWAY_MS - (toldAt - beganAt));
  const grown = (await residentBytes(server)) - memory;
  const answeredOf = load.waits.length;
  await incident.end();
  const endedAt = performance.now();
  await until(async () => (await readiness(server)).status === 200);
  const before = load.acknowledged.length;
  await until(() => load.acknowledged.length > before + 100);
  const recoveredMs = performance.now() - endedAt;
  await load.stop();

  process.stdout.write(
    `${JSON.stringify({
      noticed_ms: Math.round(noticedMs),
      told_ms: Math.round(toldAt - beganAt),
      recovered_ms: Math.round(recoveredMs),
      longest_wait_ms: Math.round(Math.max(...load.waits.map(({ ms }) => ms))),
      longest_wait_once_told_ms: Math.round(
        Math.max(
          ...load.waits
            .filter(({ sentAt }) => sentAt > toldAt && sentAt < endedAt)
            .map(({ ms }) => ms),
        ),
      ),
      grown_mib: Math.round(grown / MIB),
      acknowledged: load.acknowledged.length,
      refused: load.refused.length,
    })}\n`,
  );
  expect(load.problems).toEqual([]);
  expect(answeredOf).toBeGreaterThan(CLIENTS);
  expect(Math.max(...load.waits.map(({ ms }) => ms))).toBeLessThan(ANSWERED_WITHIN_MS);
  const sentMeanwhile = load.waits.filter(({ sentAt }) => sentAt > toldAt && sentAt < endedAt);
  expect(sentMeanwhile.length).toBeGreaterThan(CLIENTS);
  expect(Math.max(...sentMeanwhile.map(({ ms }) => ms))).toBeLessThan(AT_ONCE_MS);
  expect(recoveredMs).toBeLessThan(NOTICED_WITHIN_MS);
  expect(grown).toBeLessThan(100 * MIB);
  const lines = server.output().split('\n');
  expect(lines.filter((line) => incident.line.test(line))).toHaveLength(1);
  // each background task and each reason of a 503 may tell once more
  expect(lines.filter((line) => line.includes('"level":40')).length).toBeLessThan(50);

  for (const id of load.refused.slice(0, 500)) expect(await load.write(id)).toBe(200);
  const { body: count } = await server.post('/calls/query_stats', { project_id: PROJECT });
  expect(count.count).toBeGreaterThanOrEqual(new Set(load.acknowledged).size);
  for (const id of load.acknowledged.slice(-1000)) {
    const { status } = await server.post('/call/read', { project_id: PROJECT, id });
    expect(status).toBe(200);
  }
}

const LOST = /"level":50.*the database does not answer/;
const LOCKED = /"level":50.*another session has locked the table calls/;

unlessCluster('a relay stands before one server').describe('an external database', () => {
  let server: Server;
  let relay: Awaited<ReturnType<typeof relayTo>>;
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  beforeEach(async () => {
    database = await openTestDatabase();
    relay = await relayTo(database.url);
    server = await startServer({ DATABASE_URL: relay.url });
  });
  afterEach(async () => {
    await server.stop('SIGKILL');
    await relay.close();
    await database.drop();
  });

  it('whose host dies without a reset', async () => {
    await drill(server, {
      database: 'unreachable',
      writes: 'unknown',
      line: LOST,
      begin: () => relay.swallow(),
      end: () => relay.pass(),
    });
    relay.swallow();
    await until(async () => (await readiness(server)).status === 503);
    expect(await server.stop()).toBe(0);
  });

  it('whose host dies just before the service is stopped', async () => {
    relay.swallow();
    await pause(2000); // statements of background tasks are under way, and the outage is not yet noticed
    expect(await server.stop()).toBe(0);
  });

  it('whose address moves to another host', async () => {
    const load = writers(server);
    await until(() => load.acknowledged.length > 200);
    // the connection of the probe is open too when the address moves
    await until(async () => (await readiness(server)).status === 200);
    relay.abandon();
    await until(() => load.waits.some(({ status }) => status === 503));
    const before = load.acknowledged.length;
    await until(() => load.acknowledged.length > before + 100);
    await load.stop();
    expect(load.problems).toEqual([]);
    expect(Math.max(...load.waits.map(({ ms }) => ms))).toBeLessThan(ANSWERED_WITHIN_MS);
    process.stdout.write(
      `${JSON.stringify({ longest_wait_ms: Math.max(...load.waits.map(({ ms }) => ms)) })}\n`,
    );
  });

  it('that refuses connections', async () => {
    await drill(server, {
      database: 'unreachable',
      writes: 'unknown',
      line: LOST,
      begin: () => relay.refuse(),
      end: () => relay.pass(),
    });
  });

  it('whose table of calls is locked', async () => {
    const other = new pg.Client(database.url);
    await other.connect();
    await drill(server, {
      database: 'reachable',
      writes: 'locked',
      line: LOCKED,
      begin: async () =>
        void (await other.query('BEGIN; LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')),
      end: async () => void (await other.query('ROLLBACK')),
    });
    await other.end();
  });
});

it('the embedded database that is stopped', async () => {
  const folder = aFolder();
  const server = await startServer({ DATA_DIR: join(folder.path, 'data') });
  const [postmaster] = readFileSync(join(folder.path, 'data/pgdata/postmaster.pid'), 'utf8').split(
    '\n',
  );
  const signal = (name: NodeJS.Signals) => {
    for (const pid of [Number(postmaster), ...childrenOf(Number(postmaster))])
      process.kill(pid, name);
  };
  await drill(server, {
    database: 'unreachable',
    writes: 'unknown',
    line: LOST,
    begin: () => signal('SIGSTOP'),
    end: () => signal('SIGCONT'),
  });
  expect(await server.stop()).toBe(0);
  folder.remove();
});

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          Number(/^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1]) ===
          parent
        );
      } catch {
        return false; // it has ended
      }
    });
}
