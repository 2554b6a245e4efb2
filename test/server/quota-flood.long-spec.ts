import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { basic } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { aStart } from '../support/factories.js';
import { type Server, startServer } from '../support/server.js';

/*
 * One tenant floods, and another one works beside it: without a quota, with one, and when it is used up. Times are only
 * printed.
 */

const CONNECTIONS = 32;
const PHASE_MS = 4000;
const LIMIT = 60;
/** Most refusals of a tenant that a process answers in this time: 20 at once, and 20 a second. */
const answeredIn = (ms: number) => 20 + (20 * ms) / 1000;

let database: TestDatabase;
let server: Server;
const keys = { flood: '', calm: '' };
beforeAll(async () => {
  database = await openTestDatabase();
  server = await startServer({ DATABASE_URL: database.url });
  for (const name of ['flood', 'calm'] as const) {
    const key = { user: name, role: 'writer', scopes: [`${name}/*`] };
    keys[name] = (await server.post('/keys/create', key)).body.secret;
  }
});
afterAll(async () => {
  await server.stop('SIGKILL');
  await database.drop();
});

/** Sends batches over all connections without a pause, in a process of its own, and counts the statuses. */
const FLOOD = `
  const [url, authorization, body, connections, ms] = process.argv.slice(1);
  const end = Date.now() + Number(ms);
  const counts = {};
  await Promise.all(Array.from({ length: Number(connections) }, async () => {
    while (Date.now() < end) {
      const headers = { authorization, 'content-type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body });
      await answer.arrayBuffer();
      counts[answer.status] = (counts[answer.status] ?? 0) + 1;
    }
  }));
  console.log(JSON.stringify(counts));`;

async function flood(): Promise<{ counts: Record<string, number>; ms: number }> {
  const began = performance.now();
  const item = () => ({
    mode: 'start',
    req: { start: aStart({ project_id: 'flood/a', inputs: { text: 'x'.repeat(300) } }) },
  });
  const body = JSON.stringify({ batch: Array.from({ length: 50 }, item) });
  const sent = [`${server.url}/call/upsert_batch`, basic(keys.flood), body];
  const child = spawn(process.execPath, [
    ...['--input-type=module', '-e', FLOOD, ...sent],
    ...[String(CONNECTIONS), String(PHASE_MS)],
  ]);
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  await once(child, 'close');
  return { counts: JSON.parse(output), ms: performance.now() - began };
}

/** Starts calls of the neighbour, one every 10 ms, until the other work ends. Returns the median and the p99 in ms. */
async function neighbour<T>(other: Promise<T>) {
  const state = { isOver: false };
  const ended = other.finally(() => (state.isOver = true));
  const times: number[] = [];
  while (!state.isOver) {
    const started = performance.now();
    const body = JSON.stringify({ start: aStart({ project_id: 'calm/a' }) });
    const headers = { authorization: basic(keys.calm), 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/call/start`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
    times.push(performance.now() - started);
    await pause(10);
  }
  times.sort((a, b) => a - b);
  const at = (part: number) => Math.round(times[Math.floor(part * times.length)]! * 10) / 10;
  return { other: await ended, count: times.length, p50: at(0.5), p99: at(0.99) };
}

it('admits no more than the quota, answers few refusals, refuses nothing of a neighbour, and prints its times', async () => {
  const alone = await neighbour(pause(PHASE_MS));
  const without = await neighbour(flood());
  await server.post('/quotas/set', { scope: 'flood/*', requests_per_minute: LIMIT });
  await pause(2500); // each process has read the quota by then
  const withQuota = await neighbour(flood());
  const usedUp = await neighbour(flood());
  console.dir({ alone, without, withQuota, usedUp }, { depth: null });
  expect(without.other.counts).toEqual({ 200: expect.any(Number) });
  // a minute's worth at once, and what drains meanwhile
  const admitted = [withQuota, usedUp].map(({ other }) => other.counts[200] ?? 0);
  const ms = withQuota.other.ms + usedUp.other.ms;
  expect(admitted[0]! + admitted[1]!).toBeLessThan(LIMIT + (LIMIT * ms) / 60_000 + 2);
  for (const { other } of [withQuota, usedUp]) {
    expect(other.counts[429]).toBeGreaterThan(0);
    expect(other.counts[429]).toBeLessThan(answeredIn(other.ms) + CONNECTIONS);
  }
});
