// Measures what the gateway adds to an engine: the time to the first byte of a stream, and the speed of streams. Prints
// a table and asserts nothing.
//
//     npm run build && node bench/gateway.mjs [--streams 200] [--tokens 400] [--build ../before/dist]
//
// The engine is fake: a process that answers at once, so that any delay comes from the gateway. With another build,
// requests go to the two builds in turns.
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { fork } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuMeter, serviceAndDatabase } from './support.mjs';

const MODEL = 'bench';
const PROJECT = 'acme/bench';

/** Serves the fake engine. It sends `max_tokens` events, each with a token, its logprob and its id. */
function serveEngine() {
  const handle = async (asked, answer) => {
    let text = '';
    for await (const chunk of asked) text += chunk;
    const { max_tokens: tokens, logprobs, seed: pauseMs } = JSON.parse(text);
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = logprobs
      ? ',"logprobs":{"content":[{"token":" word","logprob":-0.123456789,"bytes":[32,119],"top_logprobs":[]}]},"token_ids":[1234]'
      : '';
    const event = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"${MODEL}","choices":[{"index":0,"delta":{"content":" word"}${more},"finish_reason":null}]}\n\n`;
    for (let i = 0; i < tokens; i++) {
      if (!answer.write(event)) await once(answer, 'drain');
      if (pauseMs) await pause(pauseMs);
    }
    answer.end('data: [DONE]\n\n');
  };
  const server = createServer((asked, answer) => void handle(asked, answer));
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () =>
    process.send(/** @type {import("node:net").AddressInfo} */ (server.address()).port),
  );
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Requests a stream. Returns the milliseconds to its first byte and to its end, and its bytes. */
function stream(url, { key, record = 'required' }, tokens, pauseMs = 0) {
  const body = JSON.stringify({
    model: MODEL,
    messages: [{ role: 'user', content: 'Say something. '.repeat(40) }],
    stream: true,
    stream_options: { include_usage: true },
    logprobs: true,
    return_token_ids: true,
    max_tokens: tokens,
    seed: pauseMs,
  });
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const asked = request(`${url}/chat/completions`, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        authorization: `Bearer ${key}`,
        'x-skein-project': PROJECT,
        'x-skein-record': record,
      },
    });
    asked.on('error', reject);
    asked.on('response', (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`status ${answer.statusCode}`));
      let first;
      let bytes = 0;
      answer.on('data', (chunk) => {
        first ??= performance.now() - began;
        bytes += chunk.length;
      });
      answer.on('end', () => resolve({ first, bytes, all: performance.now() - began }));
      answer.on('error', reject);
    });
    asked.end(body);
  });
}

const middle = (list, part = 0.5) => list.toSorted((a, b) => a - b)[Math.floor(list.length * part)];

async function firstBytes(ways, count) {
  const found = ways.map(() => []);
  for (let i = 0; i < count; i++)
    for (const [k, way] of ways.entries()) found[k].push((await way(4)).first);
  return found;
}

/** Functions that send one request each way and return the milliseconds to the first byte. */
function waysTo({ url, key, headers }) {
  const through = (n, ms) => stream(`${url}/v1`, { key }, n, ms);
  const bestEffort = (n, ms) => stream(`${url}/v1`, { key, record: 'best_effort' }, n, ms);
  /** Starts a call, which takes one commit: the speed of the machine at the moment. */
  const start = async () => {
    const began = performance.now();
    const body = JSON.stringify({
      start: { project_id: PROJECT, op_name: 'x', started_at: new Date().toISOString() },
    });
    const answer = await fetch(`${url}/call/start`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return { first: performance.now() - began };
  };
  return { through, bestEffort, start };
}

/** Bytes per second of `count` streams, `atOnce` of them in parallel. */
async function speed(way, { count, atOnce, tokens, pauseMs }) {
  const began = performance.now();
  let [left, bytes] = [count, 0];
  const work = async () => {
    while (left-- > 0) bytes += (await way(tokens, pauseMs)).bytes;
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return bytes / ((performance.now() - began) / 1000);
}

async function main() {
  const { values } = parseArgs({
    options: {
      streams: { type: 'string', default: '200' },
      tokens: { type: 'string', default: '400' },
      build: { type: 'string' },
    },
  });
  const [count, tokens] = [Number(values.streams), Number(values.tokens)];
  const engine = fork(fileURLToPath(import.meta.url), ['engine']);
  const [port] = await once(engine, 'message');
  const engineUrl = `http://127.0.0.1:${port}/v1`;
  const settings = {
    GATEWAY_PROVIDERS: JSON.stringify([
      { name: 'engine', base_url: engineUrl, models: [MODEL], engine: 'vllm' },
    ]),
  };
  const builds = [{ name: 'gateway', ...(await serviceAndDatabase(settings)) }];
  if (values.build)
    builds.push({
      name: 'other build',
      ...(await serviceAndDatabase(settings, resolve(values.build))),
    });
  const ways = builds.map(waysTo);
  const direct = (n, ms) => stream(engineUrl, { key: 'none' }, n, ms);
  const rows = [];
  /** Adds a row. `show` prints the numbers of one build. */
  const row = (what, engineText, show) =>
    rows.push({
      what,
      engine: engineText,
      ...Object.fromEntries(builds.map(({ name }, i) => [name, show(i)])),
    });
  try {
    const asked = [
      direct,
      ...ways.flatMap(({ through, bestEffort, start }) => [through, bestEffort, start]),
    ];
    await firstBytes(asked, 100); // warms up
    const [plain, ...found] = await firstBytes(asked, count);
    for (const part of [0.5, 0.9, 0.99]) {
      const engineMs = middle(plain, part);
      const names = ['first byte', 'first byte, best_effort', '(the start of a call, beside it)'];
      for (const [k, name] of names.entries())
        row(`${name}, p${part * 100}`, k < 2 ? `${engineMs.toFixed(2)} ms` : '', (i) => {
          const ms = middle(found[i * names.length + k], part);
          return k < 2
            ? `${ms.toFixed(2)} ms, +${(ms - engineMs).toFixed(2)} ms`
            : `${ms.toFixed(2)} ms`;
        });
    }
    /** @type {[string, number, number, number][]} */
    const loads = [
      ['32 streams, a token every 10 ms', 32, 10, tokens],
      ['1 stream, as fast as it goes', 1, 0, tokens],
      ['16 streams, as fast as they go', 16, 0, tokens],
      ['1 stream of 20 times the tokens', 1, 0, 20 * tokens],
    ];
    for (const [name, atOnce, pauseMs, size] of loads) {
      const options = { count: Math.max(atOnce, Math.ceil(count / 4)), atOnce, pauseMs };
      const runs = [direct, ...ways.map(({ through }) => through)].map((way) => ({
        way,
        found: [],
      }));
      for (let i = 0; i < 3; i++)
        for (const run of runs) run.found.push(await speed(run.way, { ...options, tokens: size }));
      const [a, ...others] = runs.map((run) => middle(run.found));
      const mb = (bytes) => `${(bytes / 1e6).toFixed(2)} MB/s`;
      row(name, mb(a), (i) => `${mb(others[i])}, × ${(others[i] / a).toFixed(2)}`);
    }
    for (const size of [4, tokens]) {
      const spent = [];
      for (const [i, { child }] of builds.entries()) {
        const meter = cpuMeter(child.pid);
        await speed(ways[i].through, { count, atOnce: 4, tokens: size, pauseMs: 0 });
        spent.push(meter().service);
      }
      row(
        `CPU of the service, a stream of ${size} tokens`,
        '',
        (i) => `${((spent[i] / count) * 1000).toFixed(2)} ms`,
      );
    }
    console.table(rows);
  } finally {
    agent.destroy();
    for (const { close } of builds) await close();
    engine.kill();
  }
}

if (process.argv[2] === 'engine') serveEngine();
else await main();
