// Measures the longest time that a body blocks the event loop for other requests. Another process requests /health
// every 5 ms while the body is read and stored, and the slowest answer counts. Prints a table with a column for each
// folder of compiled files.
//
//     npm run build && node bench/event-loop.mjs [dist [another dist]]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { dataFolder, started } from './support.mjs';
import { callBodies } from './write-bodies.mjs';

if (process.argv[2] === '--watch') await watch(process.argv[3]);
const ROUNDS = 3;
const MIB = 1024 * 1024;
const PROJECT = 'acme/bench';
const dists = process.argv.length > 2 ? process.argv.slice(2) : ['dist'];

/** Requests /health until it is stopped, and prints the slowest time. */
async function watch(url) {
  let worst = 0;
  process.once('SIGTERM', () => {
    process.stdout.write(`${worst}\n`);
    process.exit();
  });
  process.stdout.write('watching\n');
  for (;;) {
    const begin = performance.now();
    await (await fetch(`${url}/health`)).text();
    worst = Math.max(worst, performance.now() - begin);
    await new Promise((done) => setTimeout(done, 5));
  }
}

const filled = (bytes, item) => item.repeat(Math.floor(bytes / item.length)) + item.slice(0, -1);
const object = (val) => [
  '/obj/create',
  `{"obj":{"project_id":"${PROJECT}","object_id":"o","val":${val}}}`,
];
const start = (i, project, id) =>
  `{"mode":"start","req":{"start":{"project_id":"${project}","id":"${id}","trace_id":"t","op_name":"o","started_at":"2026-01-31T12:00:00Z","inputs":{"i":${i}}}}}`;
const batch = (item) => [
  '/call/upsert_batch',
  `{"batch":[${Array.from({ length: 10_000 }, (_, i) => item(i)).join(',')}]}`,
];
const trajectory = async (send, message) => {
  const name = `m${Math.random()}`;
  const aModel = { entity: 'acme', project: 'bench', name, base_model: 'b' };
  const { id } = await send('/v1/preview/models', JSON.stringify(aModel));
  const body = `{"model_id":"${id}","experimental_config":{},"trajectory_groups":[{"trajectories":[{"messages_and_choices":[{"role":"user","content":${message}}],"reward":1}]}]}`;
  return ['/v1/preview/training-jobs', body];
};
const spans = (count) => {
  const span = (i) =>
    `{"traceId":"${'a'.repeat(32)}","spanId":"${String(i + 1).padStart(16, '0')}","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2"}`;
  const all = Array.from({ length: count }, (_, i) => span(i)).join(',');
  return ['/otel/v1/traces', `{"resourceSpans":[{"scopeSpans":[{"spans":[${all}]}]}]}`];
};
const form = (fields) => {
  const field = (name, value) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="f"' : ''}\r\n\r\n${value}\r\n`;
  const body = Array.from({ length: fields }, (_, i) => field(`f${i}`, '')).join('');
  const type = 'multipart/form-data; boundary=x';
  return [
    '/file/create',
    `${field('project_id', PROJECT)}${body}${field('file', 'x')}--x--\r\n`,
    type,
  ];
};
const edits = (digest) => {
  const edit = (i) =>
    i % 2
      ? `{"insert":{"index":${(i * 7919) % 50_000},"row":{"i":${i}}}}`
      : `{"pop":{"index":${(i * 104_729) % 50_000}}}`;
  const updates = Array.from({ length: 10_000 }, (_, i) => edit(i)).join(',');
  return [
    '/table/update',
    `{"project_id":"${PROJECT}","base_digest":"${digest}","updates":[${updates}]}`,
  ];
};

const CASES = {
  'object, one string of 24 MiB': () => object(`"${'x'.repeat(24 * MIB)}"`),
  'object, numbers, 24 MiB': () => object(`[${filled(24 * MIB, '0,')}]`),
  'object, 500,000 members': () =>
    object(`{${Array.from({ length: 500_000 }, (_, i) => `"key${(i * 7919) % 500_000}":${i}`)}}`),
  'object, empty objects, 24 MiB': () => object(`[${filled(24 * MIB, '{},')}]`),
  'trajectory, one string of 31 MiB': (send) => trajectory(send, `"${'x'.repeat(31 * MIB)}"`),
  'trajectory, numbers, 31 MiB': (send) => trajectory(send, `[${filled(31 * MIB, '0,')}]`),
  'table of 100,000 rows, 10,000 edits': async (send) => {
    const rows = Array.from({ length: 100_000 }, (_, i) => `{"i":${i}}`).join(',');
    const { digest } = await send(
      '/table/create',
      `{"table":{"project_id":"${PROJECT}","rows":[${rows}]}}`,
    );
    return edits(digest);
  },
  'batch of 10,000 calls': () => batch((i) => start(i, PROJECT, `c${i}`)),
  'batch of one call 10,000 times': () => batch((i) => start(i, PROJECT, 'c')),
  'batch of 10,000 calls of 4,000 projects': () =>
    batch((i) => start(i, `acme/p${i % 4000}`, `c${i}`)),
  'OTLP, 10,000 spans': () => spans(10_000),
  'OTLP protobuf, 10,000 spans of 2 KB': () => [
    '/otel/v1/traces',
    callBodies(PROJECT, 10_000).protobuf(),
    'application/x-protobuf',
  ],
  'the same with gzip': () => [
    '/otel/v1/traces',
    gzipSync(callBodies(PROJECT, 10_000).protobuf()),
    'application/x-protobuf',
    'gzip',
  ],
  'file form, 100,000 fields': () => form(100_000),
  'JSON of 31 MiB, refused': () => ['/call/start', `{"x":[${filled(31 * MIB, '0,')}]}`],
};

/** Starts a service from a folder of compiled files, with the code that sends to it. */
async function serviceOf(dist) {
  const base = pathToFileURL(`${resolve(dist)}/`);
  const { newSecret } = await import(new URL('src/platform/auth/keys/secret.js', base).href);
  const key = newSecret();
  const dataDir = dataFolder();
  const main = new URL('src/main.js', base).href;
  const { child, url } = await started(main, {
    PORT: '0',
    DATA_DIR: dataDir,
    BOOTSTRAP_API_KEY: key,
  });
  const basic = `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`;
  const send = async (path, body, type = 'application/json', encoding = 'identity') => {
    const headers = {
      'content-encoding': encoding,
      'content-type': type,
      authorization: path.startsWith('/v1/') ? `Bearer ${key}` : basic,
      project_id: PROJECT,
    };
    const answer = await fetch(url + path, { method: 'POST', headers, body });
    const text = await answer.text();
    return { status: answer.status, ...(text.startsWith('{') && JSON.parse(text)) };
  };
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(dataDir, { recursive: true });
  };
  return { name: dirname(resolve(dist)), url, send, stop };
}

async function worstHealth({ url, send }, sent) {
  const watcher = spawn(process.execPath, [import.meta.filename, '--watch', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(watcher.stdout, 'data');
  const { status } = await send(...sent);
  watcher.kill('SIGTERM');
  const [worst] = await once(watcher.stdout, 'data');
  return { status, ms: Number(worst) };
}

const services = await Promise.all(dists.map(serviceOf));
for (const [name, request] of Object.entries(CASES)) {
  const row = [name];
  for (const service of services) {
    const sent = await request(service.send);
    const results = [];
    for (let i = 0; i < ROUNDS; i++) results.push(await worstHealth(service, sent));
    const median = results.map(({ ms }) => ms).toSorted((a, b) => a - b)[ROUNDS >> 1];
    row.push(`${Math.round(median)} ms (${results[0].status})`);
  }
  console.log(row.join(' | '));
}
for (const { stop } of services) await stop();
