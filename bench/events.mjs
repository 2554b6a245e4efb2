// Measures what notifying watchers of changes costs ingest: starts of calls per second without watchers and with 20
// clients that watch the project, in turns. Prints a table, and the ticks that one client received.
//
//     node bench/events.mjs [--before <dist of an earlier version>] [--seconds 4] [--rounds 6]
//
// `--before` measures another build in the same turns.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import http from 'node:http';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { newSecret } from '../dist/src/platform/auth/secret.js';
import { dataFolder, posted, started } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    before: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '6' },
  },
});
const PROJECT = 'acme/bench';
const WATCHERS = 20;

const key = newSecret();
const headers = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`,
};
async function service(dist) {
  const DATA_DIR = dataFolder();
  const env = { PORT: '0', DATA_DIR, BOOTSTRAP_API_KEY: key, LOG_FORMAT: 'json' };
  const { child, url } = await started(`${dist}/src/main.js`, env);
  child.stdout.resume();
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(DATA_DIR, { recursive: true, force: true });
  };
  return { url, stop };
}

/** Opens streams. `close` returns the number of ticks that the first one received. */
async function watchers(url) {
  let ticks = 0;
  const streams = await Promise.all(
    Array.from({ length: WATCHERS }, async (_, i) => {
      const sent = http.get(`${url}/events?project_id=${PROJECT}`, { headers });
      const [answer] = await once(sent, 'response');
      answer.on('error', () => {});
      answer.on('data', (chunk) => {
        if (i === 0) ticks += String(chunk).split('event: tick').length - 1;
      });
      return sent;
    }),
  );
  return () => {
    for (const stream of streams) stream.on('error', () => {}).destroy();
    return ticks;
  };
}

let calls = 0;
const inputs = JSON.stringify({ text: 'x'.repeat(1000) });
const body = () =>
  `{"start":{"project_id":"${PROJECT}","id":"call-${++calls}","trace_id":"t${calls}","op_name":"run","started_at":"2026-01-31T12:00:00Z","inputs":${inputs}}}`;
async function startsPerSecond(url, seconds = Number(options.seconds)) {
  const result = await posted({
    url,
    connections: 32,
    seconds,
    path: '/call/start',
    headers,
    body,
  });
  return result['2xx'] / result.duration;
}

const now = await service('../dist');
const before = options.before && (await service(resolve(options.before)));
const rates = {};
const measure = async (name, url) => (rates[name] ??= []).push(await startsPerSecond(url));
const ticks = [];
try {
  for (const one of [now, before]) if (one) await startsPerSecond(one.url, 2);
  for (let round = 0; round < Number(options.rounds); round++) {
    if (before) await measure('before', before.url);
    await measure('nobody watches', now.url);
    const close = await watchers(now.url);
    await measure(`${WATCHERS} watch`, now.url);
    ticks.push(close());
  }
} finally {
  await now.stop();
  await before?.stop();
}
const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
const [first] = Object.values(rates);
/** The median ratio to the first variant in the same round. */
const ratio = (list) =>
  list.map((rate, round) => rate / first[round]).toSorted((a, b) => a - b)[list.length >> 1];
console.log('| | calls/s | of the first, median of rounds |\n| --- | ---: | ---: |');
for (const [name, list] of Object.entries(rates))
  console.log(`| ${name} | ${Math.round(mean(list))} | ${(100 * ratio(list)).toFixed(1)} % |`);
console.log(`ticks of one client in ${options.seconds} s: ${ticks.join(', ')}`);
