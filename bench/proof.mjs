// Proves that nothing acknowledged is lost, doubled or half-written. It writes on every path while the server, or its
// PostgreSQL, is killed with SIGKILL at random times. Afterwards it looks up every acknowledged id.
//
//     npm run proof -- [--mode server|postgres|intruders|restart|node] [--seconds 60] [--rest 0]
//
// It exits with 1 when anything is wrong. Other modes:
// - `intruders`: kills only at the end. Other services and commands try to use the data folder, as a second container
//   on the same volume does: from PID namespaces of their own, through bind mounts and a link.
// - `restart`: kills nothing. SIGHUP replaces the workers one by one again and again, and no request may fail.
// - `node`: kills a worker of a cluster, and a command starts it again. PROOF_CITUS_URL is a database of its
//   coordinator that was just distributed and has no key. PROOF_START_NODE is the command, with $PORT for the port of
//   the node.
//
// Except in the modes `intruders` and `node`, backups run meanwhile, one after the other. The last one is restored and
// must contain everything that was acknowledged when it began.
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { ask, dataFolder, freePort, nodesOf, postmasterOf } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    mode: { type: 'string', default: 'server' },
    seconds: { type: 'string', default: '60' },
    /** Pause of a writer between two writes in milliseconds. The pause between two backups is five times as long. */
    rest: { type: 'string', default: '0' },
  },
});
const rest = Number(options.rest);
const KILLED = { postgres: 'PostgreSQL', node: 'a node' };
const PROJECT = 'acme/proof';
const WRITERS_PER_PATH = 2;
const key = newSecret();
const headers = { authorization: `Basic ${Buffer.from(`proof:${key}`).toString('base64')}` };
const dataDir = dataFolder();
const port = await freePort();

let requests = 0;
const failures = [];

/** Returns the body of a 200. Throws for any other status and for a broken connection. */
async function post(path, ...rest) {
  requests++;
  try {
    return await sent(path, ...rest);
  } catch (error) {
    // 204 is a valid answer to a trainer: no job is waiting
    if (error.status !== 204) failures.push(`${path}: ${error.message} ${error.cause ?? ''}`);
    throw error;
  }
}

async function sent(path, body, more = {}, method = 'POST') {
  const isForm = body instanceof FormData;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...headers, ...(!isForm && { 'content-type': 'application/json' }), ...more },
    body: isForm ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  if (answer.status !== 200)
    throw Object.assign(new Error(`${path} answered ${answer.status}: ${await answer.text()}`), {
      status: answer.status,
    });
  if (path.startsWith('/file/content')) return Buffer.from(await answer.arrayBuffer());
  const text = await answer.text();
  return answer.headers.get('content-type').includes('jsonl')
    ? text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    : JSON.parse(text || 'null');
}

/** Sends a request under `/v1/preview` with the key as a token; a GET without a body. */
const preview = (path, body, more = {}) =>
  post(
    `/v1/preview${path}`,
    body,
    { authorization: `Bearer ${key}`, ...more },
    body === undefined ? 'GET' : 'POST',
  );

const at = '2026-01-31T12:00:00.123456Z';
const aText = (marker) => marker.repeat(1 + (marker.charCodeAt(0) % 40));
const start = (marker, more = {}) => ({
  project_id: PROJECT,
  op_name: 'proof',
  started_at: at,
  inputs: { marker, text: aText(marker) },
  ...more,
});
const readCall = async (id) => (await post('/call/read', { project_id: PROJECT, id })).call;
const isStart = (call, marker) =>
  call?.inputs.marker === marker && call.inputs.text === aText(marker);
/** Judges the number of rows with a marker: none is lost, two are doubled. */
const verdict = (count, isWhole = true) =>
  count === 0 ? 'lost' : count > 1 ? 'doubled' : isWhole ? 'ok' : 'half-written';

/** Write paths. `write` resolves after the acknowledgement, and its result is passed to `check` at the end. */
const PATHS = {
  '/call/start': {
    write: async (marker) =>
      void (await post('/call/start', { start: start(marker, { id: marker }) })),
    check: async (marker) => {
      const call = await readCall(marker);
      return verdict(call ? 1 : 0, isStart(call, marker));
    },
  },
  '/call/start with Idempotency-Key': {
    // sent again until it is acknowledged, as clients do
    write: (marker) =>
      untilAcknowledged(() =>
        post('/call/start', { start: start(marker) }, { 'idempotency-key': marker }),
      ),
    check: async (marker) => {
      const { calls } = await post('/calls/query', {
        project_id: PROJECT,
        query: { $expr: { $eq: [{ $getField: 'inputs.marker' }, { $literal: marker }] } },
      });
      return verdict(calls.length, isStart(calls[0], marker));
    },
  },
  '/call/end': {
    write: async (marker) => {
      await post('/call/start', {
        start: start(marker, { id: marker, thread_id: 'proof', turn_id: marker }),
      });
      await post('/call/end', {
        end: { project_id: PROJECT, id: marker, ended_at: at, output: aText(marker) },
      });
    },
    check: async (marker) => {
      const call = await readCall(marker);
      return verdict(call ? 1 : 0, isStart(call, marker) && call.output === aText(marker));
    },
  },
  '/call/upsert_batch': {
    write: async (marker) => {
      const items = Array.from({ length: 20 }, (_, i) => [
        {
          mode: 'end',
          req: { end: { project_id: PROJECT, id: `${marker}-${i}`, ended_at: at, output: i } },
        },
        { mode: 'start', req: { start: start(marker, { id: `${marker}-${i}` }) } },
      ]);
      await post('/call/upsert_batch', { batch: items.flat() });
    },
    check: async (marker) => {
      const ids = Array.from({ length: 20 }, (_, i) => `${marker}-${i}`);
      const { calls } = await post('/calls/query', {
        project_id: PROJECT,
        filter: { call_ids: ids },
      });
      if (calls.length < 20) return 'lost';
      return calls.every((call) => isStart(call, marker) && call.id === `${marker}-${call.output}`)
        ? 'ok'
        : 'half-written';
    },
  },
  '/obj/create': {
    write: async (marker) =>
      post('/obj/create', {
        obj: { project_id: PROJECT, object_id: marker, val: { marker, text: aText(marker) } },
      }),
    check: async (marker, { digest }) => {
      const { objs } = await post('/objs/query', {
        project_id: PROJECT,
        filter: { object_ids: [marker] },
      });
      return verdict(
        objs.length,
        objs[0]?.digest === digest && objs[0].val.text === aText(marker) && objs[0].is_latest === 1,
      );
    },
  },
  '/table/create': {
    write: async (marker) =>
      post('/table/create', {
        table: { project_id: PROJECT, rows: Array.from({ length: 50 }, (_, i) => ({ marker, i })) },
      }),
    check: async (marker, { digest }) => {
      const { rows } = await post('/table/query', { project_id: PROJECT, digest });
      if (rows.length === 0) return 'lost';
      return rows.length === 50 && rows.every(({ val }, i) => val.marker === marker && val.i === i)
        ? 'ok'
        : 'half-written';
    },
  },
  '/file/create': {
    write: async (marker) => {
      const form = new FormData();
      form.set('project_id', PROJECT);
      form.set('file', new Blob([aText(marker).repeat(1000)]), 'blob');
      return post('/file/create', form);
    },
    check: async (marker, { digest }) => {
      const bytes = await post('/file/content', { project_id: PROJECT, digest }).catch(() => null);
      const sum = (data) => createHash('sha256').update(data).digest('hex');
      return verdict(bytes ? 1 : 0, bytes && sum(bytes) === sum(aText(marker).repeat(1000)));
    },
  },
  '/feedback/create': {
    write: async (marker) =>
      post('/feedback/create', {
        project_id: PROJECT,
        id: marker,
        svc_ref: `svc:///${PROJECT}/call/${marker}`,
        feedback_type: 'proof',
        payload: { text: aText(marker) },
      }),
    check: async (marker) => {
      const { result } = await post('/feedback/query', {
        project_id: PROJECT,
        query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: marker }] } },
      });
      return verdict(result.length, result[0]?.payload.text === aText(marker));
    },
  },
  '/cost/create with Idempotency-Key': {
    write: (marker) =>
      untilAcknowledged(() =>
        post(
          '/cost/create',
          {
            project_id: PROJECT,
            costs: { [marker]: { prompt_token_cost: 1.5e-7, completion_token_cost: 2 } },
          },
          { 'idempotency-key': marker },
        ),
      ),
    check: async (marker) => {
      const { results } = await post('/cost/query', {
        project_id: PROJECT,
        query: { $expr: { $eq: [{ $getField: 'llm_id' }, { $literal: marker }] } },
      });
      return verdict(results.length, results[0]?.prompt_token_cost === 1.5e-7);
    },
  },
  '/v1/preview/models': {
    write: (marker) => aModel(marker),
    check: async (marker, id) => {
      const { data } = await preview(`/models?name=${marker}`);
      const steps = data[0] ? (await preview(`/models/${data[0].id}/checkpoints`)).data : [];
      return verdict(data.length, data[0]?.id === id && steps.length === 1);
    },
  },
  '/v1/preview/models/:id/log with Idempotency-Key': {
    write: async (marker) => {
      const id = await aModel(marker);
      const body = { split: 'proof', trajectory_groups: groupsOf(marker) };
      await untilAcknowledged(() =>
        preview(`/models/${id}/log`, body, { 'idempotency-key': marker }),
      );
      return id;
    },
    check: (marker, id) => wholeGroups(marker, id),
  },
  '/v1/preview/training-jobs with Idempotency-Key': {
    write: async (marker) => {
      const id = await aModel(marker);
      const body = { model_id: id, trajectory_groups: groupsOf(marker) };
      await untilAcknowledged(() => preview('/training-jobs', body, { 'idempotency-key': marker }));
      return id;
    },
    check: async (marker, id) => {
      const { data } = await preview(`/training-jobs?model_id=${id}`);
      return data.length === 1 ? wholeGroups(marker, id) : verdict(data.length);
    },
  },
  '/v1/preview/trainer/…/complete': {
    // claims any job; the path above makes them
    write: async (marker) => {
      const job = await preview('/trainer/claims', { worker_id: marker, wait_s: 1 });
      if (!job) throw new Error('503: no job waits');
      const step = (name, body) =>
        preview(`/trainer/jobs/${job.job_id}/${name}`, body, { 'x-lease-token': job.lease_token });
      await step('events', {
        events: [{ seq: 0, type: 'training_started', data: { num_sequences: 5 } }],
      });
      await step('complete', { metrics: { loss: 1 }, checkpoint: { uri: `file:///${marker}` } });
      return job;
    },
    check: async (_marker, job) => {
      const { status } = await preview(`/training-jobs/${job.job_id}`);
      const { data: events } = await preview(`/training-jobs/${job.job_id}/events?limit=100`);
      const { data: steps } = await preview(`/models/${job.model_id}/checkpoints?limit=100`);
      const ends = events.filter(({ type }) => type === 'training_ended').length;
      return verdict(ends, status === 'succeeded' && steps.length === 2);
    },
  },
};

const [ENTITY, NAME] = PROJECT.split('/');
const aModel = async (marker) =>
  (await preview('/models', { entity: ENTITY, project: NAME, name: marker, base_model: 'Q' })).id;
const groupsOf = (marker) =>
  Array.from({ length: 5 }, (_, i) => ({
    trajectories: [{ messages_and_choices: [{ role: 'user', content: marker }], reward: i }],
  }));
/** Checks that all five trajectories of a marker exist once. */
async function wholeGroups(marker, model_id) {
  const found = await preview('/trajectories/query', { model_id });
  const isWhole = [0, 1, 2, 3, 4].every((reward) =>
    found.some((one) => one.reward === reward && one.messages_and_choices[0].content === marker),
  );
  return verdict(Math.ceil(found.length / 5), found.length === 5 && isWhole);
}

let isOver = false;
async function untilAcknowledged(send) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (isOver && /fetch failed|ECONNREFUSED/.test(String(error))) throw error;
      await pause(20);
    }
  }
}

const CITUS_URL = process.env.PROOF_CITUS_URL ?? '';
let server = /** @type {any} */ (undefined);
/** @type {Promise<unknown>} */
let ended;
let output = '';
let starts = 0;
async function startServer(folder = dataDir) {
  starts++;
  server = spawn(process.execPath, ['dist/src/main.js'], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      ...(options.mode === 'node' ? { DATABASE_URL: CITUS_URL } : { DATA_DIR: folder }),
      BOOTSTRAP_API_KEY: key,
      ...(options.mode === 'restart' && { WORKERS: '2' }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  output = '';
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (chunk) => (output += chunk));
  ended = once(server, 'exit');
  while (!output.includes('listens on')) {
    // a backup that began while no service ran uses the folder until it ends
    if (server.exitCode === 1 && output.includes(' is in use by ')) return startServer(folder);
    if (server.exitCode !== null || server.signalCode !== null)
      throw new Error(`the server did not start:\n${output}`);
    await pause(20);
  }
}

const acknowledged = [];
const failed = new Map();
async function writer(path) {
  while (!isOver) {
    const marker = randomUUID();
    try {
      const answer = await PATHS[path].write(marker);
      acknowledged.push({ path, marker, answer });
      await pause(rest);
    } catch (error) {
      failed.set(path, (failed.get(path) ?? 0) + 1);
      if (
        !/fetch failed|terminated|204|503|ECONN|aborted|other side closed/.test(
          `${error} ${error.cause}`,
        )
      )
        console.error(`unexpected: ${error}`);
      await pause(Math.max(20, rest));
    }
  }
}

const postmaster = () =>
  Number(readFileSync(join(dataDir, 'pgdata/postmaster.pid'), 'utf8').split('\n')[0]);

await startServer();
const writers = Object.keys(PATHS).flatMap((path) =>
  Array.from({ length: WRITERS_PER_PATH }, () => writer(path)),
);
const until = Date.now() + Number(options.seconds) * 1000;
let kills = 0;
async function killAndRestart() {
  kills++;
  if (options.mode === 'postgres') return killPostgres();
  if (options.mode === 'node') return killNode();
  process.kill(server.pid, 'SIGKILL');
  await ended;
  await startServer();
}

/** Kills PostgreSQL. The service starts it again by itself. */
async function killPostgres() {
  const before = postmaster();
  process.kill(before, 'SIGKILL');
  for (;;) {
    const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(({ ok }) => ok);
    if (isReady && postmaster() !== before) return;
    await pause(20);
  }
}

/** Kills a worker node, and starts it again a second later. */
async function killNode() {
  const [, ...workers] = await nodesOf(CITUS_URL);
  const worker = workers[kills % workers.length];
  process.kill(await postmasterOf(worker), 'SIGKILL');
  await pause(1000);
  const env = { ...process.env, PORT: new URL(worker).port };
  for (;;) {
    spawnSync('sh', ['-c', process.env.PROOF_START_NODE ?? ''], { env, stdio: 'ignore' });
    const isUp = await ask(worker, 'SELECT 1').catch(() => null);
    if (isUp) return;
    await pause(100); // the old processes of the node end first
  }
}

// Backups run meanwhile, one after the other. A kill makes one fail. The last successful one is restored at the end.
const backups = { made: [], failed: 0 };
const backupFolder = dataFolder();
async function backUp() {
  while (acknowledged.length === 0) await pause(20);
  while (!isOver) {
    const file = join(backupFolder, `${backups.made.length}.skein`);
    const known = acknowledged.length;
    const code = await command('backup', file, dataDir);
    if (code === 0) backups.made.push({ file, known });
    else {
      backups.failed++;
      rmSync(file, { force: true });
    }
    await pause(5 * rest);
  }
}

async function command(name, file, folder) {
  const child = spawn(process.execPath, [`dist/src/server/commands/${name}.cli.js`, file], {
    env: { PATH: process.env.PATH, DATA_DIR: folder },
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  return code;
}

// The container has its own processes, an empty folder instead of the service's socket folder, and another path to the
// data.
const CONTAINER =
  'mount --bind "$DATA_DIR" /mnt && mount -t tmpfs tmpfs "$(sed -n 5p /mnt/pgdata/postmaster.pid)" && DATA_DIR=/mnt exec "$@"';
const NAMESPACES = ['unshare', '--pid', '--fork', '--mount-proc'];
const canUnshare = spawnSync(NAMESPACES[0], [...NAMESPACES.slice(1), 'true']).status === 0;
if (options.mode === 'intruders' && !canUnshare)
  console.log('no intruders from PID namespaces: unshare(1) is not permitted here');
const SERVICE = [process.execPath, 'dist/src/main.js'];
const COMMAND = [process.execPath, 'dist/src/server/commands/keys.cli.js', 'list'];
const link = `${dataDir}-link`;
/**
 * The programs and their paths to the data, and whether one may reach the running service: a command may, by its
 * socket.
 */
const INTRUDERS = {
  'a second service': [SERVICE, dataDir],
  'a second service through a link': [SERVICE, link],
  ...(canUnshare && {
    'a command in a PID namespace': [[...NAMESPACES, ...COMMAND], dataDir],
    'a service in a PID namespace': [[...NAMESPACES, ...SERVICE], link],
    'a command in a container': [[...NAMESPACES, 'sh', '-c', CONTAINER, 'sh', ...COMMAND], dataDir],
    'a service in a container': [[...NAMESPACES, 'sh', '-c', CONTAINER, 'sh', ...SERVICE], dataDir],
  }),
};
const MAX_INTRUDERS = 4;
const outcomes = {};
let wrong = 0;

/** Runs an intruder to its end. It must be refused, or report the running service. */
async function intrude(name) {
  const [[file, ...args], folder] = INTRUDERS[name];
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      if (output.includes('listens on')) child.kill('SIGKILL');
    });
  }
  const [code] = await once(child, 'close');
  const row = (outcomes[name] ??= { tried: 0, refused: 0, 'answered by the service': 0, wrong: 0 });
  row.tried++;
  if (code === 1 && output.includes(' is in use by ')) row.refused++;
  else if (code === 0 && name.startsWith('a command')) row['answered by the service']++;
  else {
    row.wrong++;
    wrong++;
    console.error(`${name} ended with ${code}:\n${output}`);
  }
}

async function sendIntruders() {
  symlinkSync(dataDir, link);
  const holder = postmaster();
  const names = Object.keys(INTRUDERS);
  const running = new Set();
  for (let i = 0; Date.now() < until || i < names.length; i++) {
    const intruder = intrude(names[i % names.length]).finally(() => running.delete(intruder));
    running.add(intruder);
    await Promise.all([pause(200), running.size < MAX_INTRUDERS ? null : Promise.race(running)]);
  }
  await Promise.all(running);
  rmSync(link);
  if (postmaster() === holder && server.exitCode === null) return;
  wrong++;
  console.error('the intruders have ended the server');
}

let reloads = 0;
/** Performs one rolling restart. It begins after the workers of the previous one have ended, up to 65 s later. */
async function reloadWorkers() {
  server.kill('SIGHUP');
  reloads++;
  while (output.split('all workers were replaced').length <= reloads) {
    if (server.exitCode !== null || output.includes('the running workers stay'))
      throw new Error(`the workers were not replaced:\n${output}`);
    await pause(20);
  }
}

if (options.mode === 'intruders') {
  await sendIntruders();
  console.table(outcomes);
  await killAndRestart(); // data on disk counts, not data in memory
} else {
  if (options.mode !== 'node') writers.push(backUp());
  do {
    await pause(300 + Math.random() * 2500);
    await (options.mode === 'restart' ? reloadWorkers() : killAndRestart());
  } while (Date.now() < until);
  const made = backups.made.length;
  while (options.mode !== 'node' && backups.made.length === made) await pause(100); // in a short run the kills may have ended every backup
}
// in a short run the first write of a path with several requests may have been killed
const isHeard = (path) => acknowledged.some((write) => write.path === path);
const patience = Date.now() + 60_000;
while (!Object.keys(PATHS).every(isHeard) && Date.now() < patience) await pause(100);
await pause(500);
isOver = true;
await Promise.all(writers);
if (options.mode === 'restart') {
  console.log(`${reloads} rolling restarts, ${requests} requests: ${failures.length} failed`);
  for (const failure of failures) console.error(failure);
  wrong += failures.length;
}

async function lookUp(writes) {
  const verdicts = {};
  for (let i = 0; i < writes.length; i += 20)
    await Promise.all(
      writes.slice(i, i + 20).map(async ({ path, marker, answer }) => {
        const found = await PATHS[path].check(marker, answer);
        const row = (verdicts[path] ??= {
          acknowledged: 0,
          lost: 0,
          doubled: 0,
          'half-written': 0,
          failed: failed.get(path) ?? 0,
        });
        row.acknowledged++;
        if (found === 'ok') return;
        row[found]++;
        wrong++;
      }),
    );
  return verdicts;
}
// ends the transactions that the node had prepared when it was killed; Citus itself does it within a minute
if (options.mode === 'node') await ask(CITUS_URL, 'SELECT recover_prepared_transactions()');
const verdicts = await lookUp(acknowledged);
console.log(
  `Node ${process.version}; SIGKILL to ${KILLED[options.mode] ?? 'the server'} ${kills} times in ${options.seconds} s, ${starts} starts; failed writes were not acknowledged`,
);
console.table(verdicts);
const missing = Object.keys(PATHS).filter((path) => !verdicts[path]);
if (missing.length > 0) console.error(`never acknowledged: ${missing.join(', ')}`);
console.log(
  wrong === 0 && missing.length === 0
    ? `all ${acknowledged.length} acknowledged writes are there, once and whole`
    : `${wrong} WRONG`,
);

server.kill('SIGTERM');
await ended;
const last = backups.made.at(-1);
if (last) {
  const folder = dataFolder();
  const code = await command('restore', last.file, folder);
  if (code === 0) {
    await startServer(folder);
    await lookUp(acknowledged.slice(0, last.known));
    server.kill('SIGTERM');
    await ended;
  } else wrong++;
  console.log(
    `${backups.made.length} backups were made meanwhile, ${backups.failed} failed; the last one, restored, ` +
      (wrong === 0 ? `has all ${last.known} writes acknowledged before it` : 'is WRONG'),
  );
  rmSync(folder, { recursive: true, force: true });
}
rmSync(backupFolder, { recursive: true, force: true });
rmSync(dataDir, { recursive: true, force: true });
process.exitCode = wrong > 0 || missing.length > 0 ? 1 : 0;
