// Measures reads and writes through the real server, each with a baseline in the same run. Prints Markdown.
//
//     npm run bench [-- <words of a row>]
//     npx -y --allow-scripts=node -p node@24 npm run bench        on another version of Node
//
// Starts all it needs: the service with its embedded PostgreSQL and durable settings, and a bare Express. Both sides
// take turns of SECONDS, ROUNDS times, so that other work on the machine affects both.
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { cpus, totalmem } from 'node:os';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { embeddedPostgresUrl } from '../dist/src/platform/postgres/embedded-postgres.js';
import { cpuMeter, dataFolder, posted, started } from './support.mjs';
import { callBodies, MESSAGES, STARTED_AT } from './write-bodies.mjs';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const ROUNDS = 4;
const STREAMED = 50_000;
const TURNS = 200_000;
const PROJECT = 'acme/bench';
/** Only rows whose name contains this text are measured. */
const wanted = process.argv.slice(2).join(' ');

const key = newSecret();
const dataDir = dataFolder();
const service = await started('../dist/src/main.js', {
  PORT: '0',
  DATA_DIR: dataDir,
  BOOTSTRAP_API_KEY: key,
});
const bare = await started('./bare-express.mjs', {});
const pool = new pg.Pool({ connectionString: await embeddedPostgresUrl(dataDir), max: 4 });
const headers = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}`,
};

const INPUTS = JSON.stringify({ messages: MESSAGES });
let calls = 0;
const aStart = () =>
  `{"project_id":"${PROJECT}","id":"call-${++calls}","trace_id":"trace-${calls}","op_name":"run","started_at":"${STARTED_AT}","inputs":${INPUTS}}`;
const startBody = () => `{"start":${aStart()}}`;

/** Sends requests for some time. Returns their number and the time of each. */
const requests = (url, path, connections, body, rowsEach, more) => async () => {
  const times = [];
  const result = await posted({
    url,
    connections,
    seconds: SECONDS,
    path,
    headers: { ...headers, ...more },
    body,
    setupClient: (client) => client.on('response', (_status, _bytes, ms) => times.push(ms)),
  });
  return { rows: result['2xx'] * rowsEach, seconds: result.duration, times };
};

/** Repeats work in this process, `connections` at a time, and returns the same numbers. */
const repeated = (connections, rowsEach, work) => async () => {
  const times = [];
  const began = performance.now();
  const worker = async () => {
    while (performance.now() - began < SECONDS * 1000) {
      const from = performance.now();
      await work();
      times.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return { rows: times.length * rowsEach, seconds: (performance.now() - began) / 1000, times };
};

const COLUMNS = ['project_id', 'id', 'trace_id', 'op_name', 'started_at', 'inputs'];
const multiRowInsert = (rows) => {
  const places = Array.from(
    { length: rows },
    (_, row) => `(${COLUMNS.map((_name, i) => `$${row * COLUMNS.length + i + 1}`)})`,
  );
  const text = `INSERT INTO bench_raw (${COLUMNS}) VALUES ${places}`;
  return () => {
    const values = [];
    for (let i = 0; i < rows; i++) {
      const n = ++calls;
      values.push(PROJECT, `call-${n}`, `trace-${n}`, 'run', STARTED_AT, INPUTS);
    }
    return pool.query(text, values);
  };
};

const agent = new http.Agent({ keepAlive: true });
/** Reads a stream and counts its lines. */
const streamed = (path, body) =>
  new Promise((resolve, reject) => {
    const request = http.request(
      service.url + path,
      { method: 'POST', headers, agent },
      (response) => {
        linesOf(response).then(
          (lines) =>
            response.statusCode === 200 ? resolve(lines) : reject(new Error(`${lines} lines`)),
          reject,
        );
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
async function linesOf(stream) {
  let lines = 0;
  for await (const chunk of stream)
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}
async function copied(query) {
  const client = await pool.connect();
  try {
    return await linesOf(client.query(copyTo(`COPY (${query}) TO STDOUT`)));
  } finally {
    client.release();
  }
}
const expecting = (lines, read) => async () => {
  const found = await read();
  if (found !== lines) throw new Error(`${found} lines, not ${lines}`);
};

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const perSecond = (runs) => sum(runs.map(({ rows }) => rows)) / sum(runs.map((run) => run.seconds));
const ms = (runs) => {
  const sorted = runs.flatMap(({ times }) => times).toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  return [at(0.5), at(0.99)].map((time) => time.toFixed(time < 10 ? 2 : 0)).join(' / ');
};
/** Microseconds of CPU per row, of the service and its PostgreSQL. */
const cpu = (runs) => {
  const rows = sum(runs.map((run) => run.rows));
  const of = (who) => ((1e6 * sum(runs.map((run) => run.cpu[who]))) / rows).toFixed(0);
  return `${of('service')} + ${of('postgres')}`;
};
const whole = (number) => Math.round(number).toLocaleString('en');

/** Measures both sides alternately, after one round of each that does not count. */
async function compare(name, unit, ours, baselineName, baseline) {
  if (!name.includes(wanted)) return;
  await baseline();
  await ours();
  const [own, other] = [[], []];
  const measured = async (run) => {
    await pool.query('CHECKPOINT'); // each side flushes its own writes
    const used = cpuMeter(service.child.pid);
    return { ...(await run()), cpu: used() };
  };
  for (let round = 0; round < ROUNDS; round++) {
    other.push(await measured(baseline));
    own.push(await measured(ours));
  }
  const ratio = perSecond(own) / perSecond(other);
  console.log(
    `| ${[
      name,
      `${whole(perSecond(own))} ${unit}`,
      ms(own),
      cpu(own),
      baselineName,
      `${whole(perSecond(other))} ${unit}`,
      ms(other),
      cpu(other),
      `**${ratio.toFixed(ratio < 10 ? 2 : 0)}**`,
    ].join(' | ')} |`,
  );
}

try {
  await pool.query('CREATE TABLE bench_raw (LIKE calls INCLUDING ALL)');
  const {
    rows: [{ version }],
  } = await pool.query(`SELECT current_setting('server_version') AS version`);
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  console.log(
    `Node ${process.versions.node}, PostgreSQL ${version}, ${cpus().length} × ${cpus()[0].model}, ${gib} GiB, ` +
      `calls of ${Buffer.byteLength(startBody())} bytes, ${ROUNDS} rounds of ${SECONDS} s\n`,
  );
  console.log(
    `| | Skein | p50 / p99 ms | CPU µs | baseline | | p50 / p99 ms | CPU µs | ratio |\n|---|--:|--:|--:|---|--:|--:|--:|--:|`,
  );
  const of100 = callBodies(PROJECT, 100);
  await compare(
    '`/call/upsert_batch` of 100, 8 connections',
    'calls/s',
    requests(service.url, '/call/upsert_batch', 8, of100.starts, 100),
    'multi-row insert of 100, 4 connections',
    repeated(4, 100, multiRowInsert(100)),
  );
  const ofBatch = requests(service.url, '/call/upsert_batch', 8, of100.batch, 100);
  const ofOtlp = (body, type) =>
    requests(service.url, '/otel/v1/traces', 8, body, 100, {
      'content-type': type,
      project_id: PROJECT,
    });
  for (const [name, run] of [
    ['protobuf', ofOtlp(of100.protobuf, 'application/x-protobuf')],
    ['JSON', ofOtlp(of100.json, 'application/json')],
  ])
    await compare(
      `OTLP ${name}, 100 spans, 8 connections`,
      'calls/s',
      run,
      '`/call/upsert_batch` of their starts and ends',
      ofBatch,
    );
  await compare(
    '`/call/start`, 64 connections',
    'calls/s',
    requests(service.url, '/call/start', 64, startBody, 1),
    'bare Express, stores nothing',
    requests(bare.url, '/call/start', 64, startBody, 1),
  );
  await compare(
    '`/call/start`, 1 connection',
    'calls/s',
    requests(service.url, '/call/start', 1, startBody, 1),
    'insert of 1 row, 1 connection',
    repeated(1, 1, multiRowInsert(1)),
  );

  await pool.query(
    `INSERT INTO calls (project_id, id, trace_id, op_name, started_at, user_id, attributes, inputs)
     SELECT 'acme/stream', 'call-' || n, 'trace-' || n, 'run', '2026-01-31T12:00:00Z'::timestamptz + n * interval '1 s', 'ada', '{}', $1
     FROM generate_series(1, ${STREAMED}) n`,
    [INPUTS],
  );
  await pool.query(
    `INSERT INTO calls (project_id, id, op_name, trace_id, turn_id, thread_id, started_at, ended_at, user_id, attributes, inputs)
     SELECT 'acme/threads', 'turn-' || n, 'chat', 'trace-' || n, 'turn-' || n, 'thread-' || n % ${TURNS / 10},
       '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 s', '2026-01-01T00:00:07Z'::timestamptz + n * interval '1 s', 'ada', '{}', '{}'
     FROM generate_series(1, ${TURNS}) n`,
  );
  await pool.query('VACUUM ANALYZE calls');
  await pool.query('CHECKPOINT');
  await compare(
    `\`/calls/stream_query\` of ${whole(STREAMED)} calls`,
    'calls/s',
    repeated(
      1,
      STREAMED,
      expecting(STREAMED, () => streamed('/calls/stream_query', { project_id: 'acme/stream' })),
    ),
    '`COPY … TO STDOUT` of their rows',
    repeated(
      1,
      STREAMED,
      expecting(STREAMED, () => copied(`SELECT * FROM calls WHERE project_id = 'acme/stream'`)),
    ),
  );
  while ((await pool.query('SELECT FROM thread_marks LIMIT 1')).rowCount > 0)
    await new Promise((resolve) => setTimeout(resolve, 100));
  await pool.query('VACUUM ANALYZE threads');
  const page = { project_id: 'acme/threads', limit: 50 };
  const naive = `SELECT thread_id, count(*), min(started_at), max(coalesce(ended_at, started_at)) AS last_updated,
      percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - started_at)::float8)
    FROM calls WHERE project_id = 'acme/threads' AND id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL
    GROUP BY thread_id ORDER BY last_updated DESC NULLS LAST, thread_id LIMIT 50`;
  await compare(
    `\`/threads/stream_query\`, a page of 50 of ${whole(TURNS / 10)} threads`,
    'pages/s',
    repeated(
      1,
      1,
      expecting(50, () => streamed('/threads/stream_query', page)),
    ),
    `\`GROUP BY\` over their ${whole(TURNS)} turns`,
    repeated(1, 1, () => pool.query(naive)),
  );
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1];
  console.log(`\nResident memory of the service at the end: ${whole(Number(rss) / 1024)} MiB.`);
} finally {
  agent.destroy();
  await pool.end();
  for (const { child } of [service, bare]) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  rmSync(dataDir, { recursive: true });
}
