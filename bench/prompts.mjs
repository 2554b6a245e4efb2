/**
 * Fetches prompts 2,000 times a second from one process, while labels move in another. Prints the waiting times, the
 * CPU, and how long after its move or removal a label was still answered. Starts an embedded PostgreSQL and two
 * services.
 *
 *     npm run build && node bench/prompts.mjs [seconds=20]
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { cpuMeter, serviceAndDatabase, started } from './support.mjs';

const SECONDS = Number(process.argv[2] ?? 20);
const RATE = 2000;
const PROMPTS = 50;
const MOVES = 20;
const project_id = 'acme/bench';

const service = await serviceAndDatabase();
const { headers, databaseUrl } = service;
const other = await started('../dist/src/main.js', { DATABASE_URL: databaseUrl, PORT: '0' });
other.child.stdout.resume();

const ask = async (url, path, body) => {
  const request = { method: 'POST', headers, body: JSON.stringify({ project_id, ...body }) };
  const response = await fetch(`${url}/prompts/${path}`, request);
  return { status: response.status, body: await response.json() };
};
const prompt = 'You help {{customer}} with refunds. '.repeat(40);
for (let i = 0; i < PROMPTS; i++)
  for (let version = 1; version <= 2; version++)
    await ask(service.url, 'create', { name: `p/${i}`, prompt, labels: ['production'] });

/** Waits until the service answers a prompt so, and returns how long that took. */
async function delayUntil(url, isSo) {
  const began = performance.now();
  while (!isSo(await ask(url, 'get', { name: 'p/0' }))) await sleep(5);
  return performance.now() - began;
}

let sent = 0;
const requests = [
  {
    method: 'POST',
    path: '/prompts/get',
    headers,
    setupRequest: (request) => ({
      ...request,
      body: JSON.stringify({ project_id, name: `p/${sent++ % PROMPTS}` }),
    }),
  },
];
const cpu = cpuMeter(service.child.pid);
const load = autocannon({
  url: service.url,
  connections: 20,
  overallRate: RATE,
  duration: SECONDS,
  requests,
});
const delays = [];
for (let i = 0; i < MOVES; i++) {
  await sleep((SECONDS * 1000) / MOVES / 2);
  const version = (i % 2) + 1;
  await ask(other.url, 'labels/set', { name: 'p/0', version, labels: ['production'] });
  delays.push(await delayUntil(service.url, ({ body }) => body.version === version));
}
await ask(other.url, 'labels/remove', { name: 'p/0', labels: ['production'] });
const removal = await delayUntil(service.url, ({ status }) => status === 404);
await ask(other.url, 'labels/set', { name: 'p/0', version: 1, labels: ['production'] });
const { latency, '2xx': answered, non2xx, errors } = await load;
const { service: cpuSeconds } = cpu();
console.log(`${answered} answered, ${non2xx} others, ${errors} errors in ${SECONDS} s`);
console.log(`p50 ${latency.p50} ms, p99 ${latency.p99} ms, largest ${latency.max} ms`);
console.log(`${Math.round((cpuSeconds * 1e6) / answered)} µs of CPU a fetch`);
console.log(
  `a move is seen by the other process after at most ${Math.round(Math.max(...delays))} ms`,
);
console.log(`a removal after ${Math.round(removal)} ms`);
other.child.kill('SIGTERM');
await once(other.child, 'exit');
await service.close();
