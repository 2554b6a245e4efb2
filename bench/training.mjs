/**
 * Measures training jobs of 60 and 200 MB: the time to receive one and to send it to a trainer, the latency of /health
 * meanwhile, and the service's memory. Then compares the scanner with JSON.parse, and the levels of gzip. The bodies
 * are made while they are sent.
 *
 *     npm run build && node bench/training.mjs [folder of compiled files=dist]
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { availableParallelism, cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import zlib from 'node:zlib';
import { dataFolder } from './support.mjs';

const folder = resolve(process.argv[2] ?? 'dist');
const dist = pathToFileURL(`${folder}/`);
const { newSecret } = await import(new URL('src/platform/auth/keys/secret.js', dist).href);
const { JsonScanner } = await import(new URL('src/platform/json/json-scanner.js', dist).href);
const { TrajectoryReader } = await import(
  new URL('src/training/trajectories/trajectory-reader.js', dist).href
);

const MB = 1e6;
const PORT = '3390';
const url = `http://127.0.0.1:${PORT}`;
const key = newSecret();
const round = (value, digits = 1) => value.toFixed(digits);

/**
 * About 110 bytes a sampled token, as clients send them; 400 tokens a choice, 3 choices a trajectory, 8 of these a
 * group.
 */
let noise = 1;
const random = () => (noise = (noise * 48_271) % 2_147_483_647) / 2_147_483_647;
const token = () => {
  const text = random().toString(36).slice(2, 6);
  return {
    token: text,
    logprob: Math.log(random()),
    bytes: [...Buffer.from(text)],
    top_logprobs: [],
  };
};
const choice = () => ({
  finish_reason: 'stop',
  index: 0,
  message: { role: 'assistant', content: random().toString(36).repeat(120), refusal: null },
  logprobs: { content: Array.from({ length: 400 }, token), refusal: null },
});
const trajectory = () => ({
  messages_and_choices: [
    { role: 'system', content: 'Play the game well. '.repeat(40) },
    ...[1, 2, 3].flatMap(() => [{ role: 'user', content: 'Your move? '.repeat(20) }, choice()]),
  ],
  reward: random(),
  metrics: { moves: Math.floor(random() * 40), won: random() > 0.5 },
  metadata: { scenario: 'bench' },
  logs: [],
});
const group = () => JSON.stringify({ trajectories: Array.from({ length: 8 }, trajectory) });
const groups = Array.from({ length: 6 }, group);

/** Yields a body of about `bytes`, piece by piece. */
function* body(model, bytes, isModelLast) {
  const name = `"model_id":"${model}"`;
  yield Buffer.from(isModelLast ? '{"trajectory_groups":[' : `{${name},"trajectory_groups":[`);
  for (let sent = 0, i = 0; sent < bytes; i++) {
    const text = Buffer.from(
      (i ? ',' : '') + groups[i % groups.length].replace('bench', `bench ${i}`),
    );
    sent += text.length;
    yield text;
  }
  yield Buffer.from(isModelLast ? `],${name}}` : ']}');
}

const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

async function call(method, path, sent, more = {}) {
  const response = await fetch(`${url}/v1/preview${path}`, {
    method,
    headers: { ...headers, ...more },
    body: sent && JSON.stringify(sent),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

function send(path, pieces, isGzip) {
  return new Promise((done, failed) => {
    const request = http.request(`${url}/v1/preview${path}`, {
      method: 'POST',
      headers: { ...headers, ...(isGzip && { 'content-encoding': 'gzip' }) },
    });
    request.on('error', failed).on('response', (response) => {
      let text = '';
      response
        .on('data', (chunk) => (text += chunk))
        .on('end', () => {
          if (response.statusCode === 200) done(JSON.parse(text));
          else failed(new Error(`${response.statusCode} ${text}`));
        });
    });
    void (async () => {
      for (const piece of pieces)
        if (!request.write(piece)) await new Promise((drained) => request.once('drain', drained));
      request.end();
    })();
  });
}

/** The memory of a process in MB: now, and its peak since the last reset. */
function memory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1000;
  return { now: of('VmRSS'), peak: of('VmHWM') };
}

/** Requests /health every 5 ms from a process of its own, so that work of this process does not count. */
function watchHealth() {
  const watcher = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import http from 'node:http';
       const agent = new http.Agent({ keepAlive: true });
       const times = [];
       let isOver = false;
       process.stdin.resume().on('end', () => (isOver = true));
       while (!isOver) {
         const start = performance.now();
         await new Promise((done) => http.get('${url}/health', { agent }, (r) => r.resume().on('end', done)));
         times.push(performance.now() - start);
         await new Promise((done) => setTimeout(done, 5));
       }
       agent.destroy();
       times.sort((a, b) => a - b);
       const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
       console.log(JSON.stringify({ count: times.length, p50: at(0.5), p99: at(0.99), max: at(1) }));`,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  let text = '';
  watcher.stdout.on('data', (chunk) => (text += chunk));
  return () =>
    new Promise((done) => {
      watcher.on('close', () => done(JSON.parse(text)));
      watcher.stdin.end();
    });
}

const time = async (work) => {
  const start = performance.now();
  const result = await work();
  return [result, (performance.now() - start) / 1000];
};

async function start(dataDir) {
  const server = spawn(process.execPath, [join(folder, 'src/main.js')], {
    env: {
      PATH: process.env.PATH,
      PORT,
      DATA_DIR: dataDir,
      BOOTSTRAP_API_KEY: key,
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  for (;;) {
    try {
      if ((await fetch(`${url}/ready`)).ok) return server;
    } catch {}
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function oneJob({ name, bytes, isGzip = false, isModelLast = false }) {
  const dataDir = dataFolder();
  const server = await start(dataDir);
  const created = await call('POST', '/models', {
    entity: 'a',
    project: 'b',
    name: 'm',
    base_model: 'q',
  });
  const model = (await created.json()).id;
  let pieces = [...body(model, bytes, isModelLast)];
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const expected = createHash('sha256');
  for (const piece of pieces) if (piece[0] !== 0x5d) expected.update(piece);
  if (isGzip) pieces = [zlib.gzipSync(Buffer.concat(pieces), { level: 1 })];
  const before = memory(server.pid);
  const health = watchHealth();
  const [, seconds] = await time(() => send('/training-jobs', pieces, isGzip));
  const seen = await health();
  const after = memory(server.pid);

  const claim = await (await call('POST', '/trainer/claims', { worker_id: 'bench' })).json();
  const path = `/trainer/jobs/${claim.job_id}/payload`;
  const payload = createHash('sha256');
  const [numLines, payloadSeconds] = await time(async () => {
    const response = await call('GET', path, undefined, { 'x-lease-token': claim.lease_token });
    let lines = 0;
    let isFirst = true;
    payload.update(
      isModelLast ? '{"trajectory_groups":[' : `{"model_id":"${model}","trajectory_groups":[`,
    );
    let line = [];
    const inflated = response.body.pipeThrough(new DecompressionStream('gzip'));
    for await (const chunk of inflated) {
      let from = 0;
      for (let at; (at = chunk.indexOf(10, from)) >= 0; from = at + 1) {
        line.push(chunk.subarray(from, at));
        payload.update(isFirst ? '' : ',');
        for (const part of line) payload.update(part);
        [line, isFirst] = [[], false];
        lines++;
      }
      line.push(chunk.slice(from));
    }
    return lines;
  });
  server.kill('SIGTERM');
  await new Promise((done) => server.once('close', done));
  rmSync(dataDir, { recursive: true });
  return {
    body: name,
    MB: round(size / MB),
    'receive s': round(seconds, 2),
    'MB/s': round(size / MB / seconds, 0),
    'health n': seen.count,
    'p50 ms': round(seen.p50),
    'p99 ms': round(seen.p99),
    'max ms': round(seen.max),
    'RSS before': round(before.now, 0),
    'RSS peak': round(after.peak, 0),
    'growth / body': round(((after.peak - before.now) * 1.024) / (size / MB), 2),
    'payload MB': round(claim.payload.bytes / MB),
    'hand out s': round(payloadSeconds, 2),
    groups: numLines,
    verbatim: payload.digest('hex') === expected.digest('hex'),
  };
}

console.log(`Node ${process.version}, ${availableParallelism()} × ${cpus()[0].model}`);
const jobs = [
  { name: '60 MB', bytes: 60 * MB },
  { name: '200 MB', bytes: 200 * MB },
  { name: '200 MB, gzip', bytes: 200 * MB, isGzip: true },
  { name: '200 MB, model last', bytes: 200 * MB, isModelLast: true },
];
const rows = [];
for (const job of jobs) rows.push(await oneJob(job));
console.table(Object.fromEntries(rows.map(({ body: name, ...row }) => [name, row])));

// measures the pieces alone, on one thread
const sample = Buffer.concat([...body('m', 50 * MB)]);
const slices = Array.from({ length: Math.ceil(sample.length / 65_536) }, (_, i) =>
  sample.subarray(i * 65_536, (i + 1) * 65_536),
);
const best = (work) => {
  let seconds = Infinity;
  for (let i = 0; i < 3; i++) {
    const begun = performance.now();
    work();
    seconds = Math.min(seconds, (performance.now() - begun) / 1000);
  }
  return { s: round(seconds, 2), 'MB/s': round(sample.length / MB / seconds, 0) };
};
const nobody = { valueStart() {}, valueEnd() {}, key() {} };
console.table({
  'JSON.parse of the whole': best(() => JSON.parse(sample.toString())),
  'scanner alone': best(() => {
    const scanner = new JsonScanner(nobody);
    for (const slice of slices) scanner.write(slice);
  }),
  'reader: scan, cut, validate, rows': best(() => {
    const reader = new TrajectoryReader(new Date().toISOString());
    for (const slice of slices) {
      reader.write(slice);
      reader.take();
    }
  }),
  sha256: best(() => {
    const hash = createHash('sha256');
    for (const slice of slices) hash.update(slice);
    hash.digest();
  }),
});
const chunks = Array.from({ length: 20 }, (_, i) =>
  sample.subarray(i * 1_048_576, (i + 1) * 1_048_576),
);
const levels = {};
for (const level of [1, 3, 6]) {
  const begun = performance.now();
  const bytes = chunks.reduce((sum, chunk) => sum + zlib.gzipSync(chunk, { level }).length, 0);
  levels[`gzip ${level}`] = {
    'MB/s': round((20 * 1.048576) / ((performance.now() - begun) / 1000), 0),
    'of the body': `${round((100 * bytes) / (20 * 1_048_576))} %`,
  };
}
console.table(levels);
