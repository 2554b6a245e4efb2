// Searches for expensive requests. It makes 10⁵ bodies from the service's OpenAPI document (bodies.mjs), and sends them
// to the built service in small groups. Then it takes the groups that blocked the event loop longest, and those for
// which memory grew most. It sends their requests again one by one, and prints the ten worst and each 5xx except 503.
//
//   npm run attack:generate -- [--cases 100000] [--minutes 600] [--seed 1] [--odd] [--pairs [--mib 8]]
//     [--state FILE] [--case N]
//
// --odd         every request has odd variants of what real clients send (odd.mjs), otherwise one of twenty. Calls that
//               such a write acknowledges are read back.
// --pairs       each body is small and asks about one of the large documents that were stored before.
// --state FILE  keeps the results in a file and continues there. Many short runs make one long run, and each prints the
//               worst requests of all runs. With --minutes 0 it only prints.
// --case N      sends one request again and prints it.
//
// It exits with 1 on a 5xx, on a delay above 1 s (0.5 s with --pairs), and on too much memory: more than 1 GB, or 4 GB
// in PostgreSQL.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { operationsOf, requestOf } from './bodies.mjs';
import { AT, Client, FORM, multipart, times } from './client.mjs';
import { basic, Service } from './service.mjs';

const { values: options } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
    minutes: { type: 'string', default: '600' },
    odd: { type: 'boolean', default: false },
    pairs: { type: 'boolean', default: false },
    mib: { type: 'string', default: '8' },
    state: { type: 'string' },
  },
});
const WIDTH = options.pairs ? 16 : 8;
const SUSPECTS = options.pairs ? 10 : 20;
const WORST = 10;
/** Limits of one request that is sent alone: the delay of other requests, and the size of the process. */
const MOST_BLOCKED_MS = options.pairs ? 500 : 1000;
const MOST_MIB = 1024;
/** Memory of PostgreSQL without its cache. */
const MOST_POSTGRES_MIB = 4096;
/** Number of groups after which a line is printed and the state is saved. */
const LINE_EVERY = options.pairs ? 50 : 1000;
/** Any request leaves garbage, so smaller growth does not count. */
const GARBAGE_MIB = 16;
/** A request that takes longer beside others is sent again alone, with the limit below. */
const TIMEOUT_MS = 10_000;
const ALONE_TIMEOUT_MS = 75_000;

// a probe that asks rarely leaves more time for the cases, and still sees a delay of 1 s
const service = await new Service(options.pairs ? 25 : 5).start();
process.on('exit', () => service.child.kill('SIGKILL'));
let client = new Client(service);
const document = await (await fetch(`${service.url}/openapi.json`)).json();
/** Operations that would delete or shrink the large documents. */
const REPLACES = /delete|purge|erase|retention|call\/(start|end|upsert)|complete|obj\/create/;
const operations = operationsOf(document).filter(
  ({ path, method }) => !options.pairs || !(REPLACES.test(path) || method === 'DELETE'),
);
/** @type {any} */
const stored = { ...(await store('acme/stored')), langfuse: await storeMedia('acme/stored') };
if (options.pairs) stored.large = await storeLarge(stored.project);
const seed = Number(options.seed);
const makers = ['bodies.mjs', 'odd.mjs'].map((name) =>
  readFileSync(new URL(name, import.meta.url), 'utf8'),
);
/** Two runs with the same version make the same request for a number. */
const version = createHash('sha256')
  .update(JSON.stringify([document, seed, options.odd, options.pairs && options.mib, makers]))
  .digest('hex');
/** Results so far. For a group only its numbers and costs are kept, for the worst requests also the printed text. */
const found = {
  next: 0,
  seconds: 0,
  failures: [],
  late: [],
  seen: {},
  slow: [],
  large: [],
  lasting: [],
  heavy: [],
  alone: [],
  ...(options.state &&
    existsSync(options.state) &&
    JSON.parse(readFileSync(options.state, 'utf8'))),
};
if (found.version !== version)
  Object.assign(found, { version, late: [], slow: [], large: [], lasting: [], heavy: [] });
const { failures, seen } = found;

/** Stores a model, a table, a file and objects that the bodies refer to. */
async function store(project) {
  const post = async (path, body, more) => JSON.parse((await client.send(path, body, more)).text);
  const [entity, name] = project.split('/');
  const model = await post('/v1/preview/models', {
    entity,
    project: name,
    name: 'm',
    base_model: 'Q',
  });
  const table = await post('/table/create', {
    table: { project_id: project, rows: times(200, (i) => ({ a: [{ b: i }], value: i })) },
  });
  const parts = [
    ['project_id', project],
    ['file', Buffer.alloc(100_000)],
  ];
  const file = await post('/file/create', multipart(parts), { headers: FORM });
  for (const i of [0, 1, 2])
    await post('/obj/create', {
      obj: { project_id: project, object_id: `x${i}`, val: { a: [i] } },
    });
  return {
    project,
    model: model.id,
    table: table.digest,
    row: table.row_digests[0],
    file: file.digest,
  };
}

/** Announces media as a Langfuse client. Returns the media and the credentials. */
async function storeMedia(project) {
  const [, secret] = Buffer.from(basic(service.keys.attacker).slice(6), 'base64')
    .toString()
    .split(':');
  const authorization = `Basic ${Buffer.from(`${project}:${secret}`).toString('base64')}`;
  const media = [];
  for (const length of [1, 1000, 3_000_000]) {
    const bytes = randomBytes(length);
    const sha256Hash = createHash('sha256').update(bytes).digest('base64');
    const { text } = await client.send(
      '/api/public/media',
      {
        ...{ traceId: 't', field: 'input', contentType: 'image/png' },
        ...{ contentLength: length, sha256Hash },
      },
      { headers: { authorization } },
    );
    const { pathname, search } = new URL(JSON.parse(text).uploadUrl);
    media.push({ url: pathname + search, bytes });
  }
  return { authorization, media };
}

/** Stores each large document in every place that can hold one. Returns how to find them. */
async function storeLarge(project) {
  const bytes = Number(options.mib) * 1024 * 1024;
  const many = (text, length = text.length) => text.repeat(Math.floor(bytes / length / 4) * 4);
  const deep = `${'{"a":'.repeat(60)}"${many('x')}"${'}'.repeat(60)}`;
  const documents = {
    long: `{"a":"${many('x')}"}`,
    escaped: `{"a":"${many(String.raw`\n`)}"}`,
    opaque: `{"a":"${String.raw`\u0000`}${many(String.raw`\u00e9`)}"}`,
    deep,
    numbers: `{"a":[${many('1,', 40)}1]}`,
    wide: `{${times(bytes / 400, (i) => `"k${i}":1`).join()},"a":1}`,
    messages: `{"messages":[${many('{"role":"user","content":"x"},', 400)}{"role":"user","content":"x"}],"a":1}`,
    tokens: `{"prompt_token_ids":[${many('1,', 40)}1],"choices":[${times(128, (index) => `{"index":${index},"token_ids":[1],"message":{"role":"assistant","content":"x"}}`).join()}]}`,
  };
  const large = { ids: [], objects: [], refs: [], fields: [] };
  for (const [name, text] of Object.entries(documents)) {
    for (const place of ['inputs', 'output', 'attributes', 'summary']) {
      const id = `${name}-${place}`;
      const call = {
        project_id: project,
        id,
        trace_id: id,
        op_name: 'large',
        started_at: AT,
        ended_at: AT,
      };
      const all = { inputs: '{}', output: '{}', attributes: '{}', summary: '{}', [place]: text };
      const members = Object.entries(all).map(([key, value]) => `,"${key}":${value}`);
      const one = `${JSON.stringify(call).slice(0, -1)}${members.join('')}}`;
      const { status } = await client.send(`/v2/${project}/calls/complete`, `{"batch":[${one}]}`);
      if (status !== 200) continue;
      large.ids.push(id);
      large.refs.push(`svc:///${project}/call/${id}`);
    }
    const object = `{"obj":{"project_id":"${project}","object_id":"${name}","val":${text}}}`;
    const { status, text: answer } = await client.send('/obj/create', object);
    if (status !== 200) continue;
    large.objects.push(name);
    for (const path of ['', '/key/a', '/attr/a', '/key/a'.repeat(50), '/key/a/index/9'])
      large.refs.push(`svc:///${project}/object/${name}:${JSON.parse(answer).digest}${path}`);
  }
  for (const place of ['inputs', 'output', 'attributes', 'summary'])
    large.fields.push(
      place,
      `${place}.a`,
      `${place}.k1`,
      `${place}.messages`,
      `${place}${'.a'.repeat(40)}`,
    );
  console.log(
    `${large.ids.length} calls and ${large.objects.length} objects of ${options.mib} MiB are stored`,
  );
  return large;
}

/** Sends the requests together. Returns the delay of /health, the memory and the answers meanwhile. */
async function cost(numbers) {
  const timeoutMs = numbers.length === 1 ? ALONE_TIMEOUT_MS : TIMEOUT_MS;
  const requests = numbers.map((number) => ({
    number,
    ...requestOf(document, operations, { seed, number, stored, isOdd: options.odd }),
  }));
  await service.probe.report();
  service.resetPeak();
  const before = service.mebibytes('VmRSS');
  const cpuBefore = service.loopSeconds();
  const begun = performance.now();
  let postgres = 0;
  const look = () => (postgres = Math.max(postgres, service.postgres.all));
  const watch = options.pairs && setInterval(look, 50);
  await Promise.all(
    requests.map(async (request) => {
      const { method, path, body, headers } = request;
      const as = path.includes('/trainer/') ? 'trainer' : 'attacker';
      const answer = await client.send(path, body, { method, headers, as, timeoutMs });
      Object.assign(request, { status: answer.status, text: answer.text, answered: answer.size });
      if (request.returned && answer.status === 200) await readBack(request);
    }),
  );
  clearInterval(watch);
  const ms = performance.now() - begun;
  const { worst } = (await service.probe.report()).health;
  const isAlive = service.isAlive;
  // The loop is not blocked for longer than its thread has run. The rest of the delay is other work of the machine.
  const blocked = isAlive ? Math.min(worst, (service.loopSeconds() - cpuBefore) * 1000) : worst;
  const grown = isAlive ? service.mebibytes('VmHWM') - before : NaN;
  const sent =
    requests.reduce((sum, { body }) => sum + (body?.length ?? 0), 0) + 200 * requests.length; // with heads
  return { requests, blocked, grown, sent, isAlive, ms, postgres };
}

/** Longer answers are cut. */
const READ_CHARACTERS = 7_000_000;

/** Reads an acknowledged call, and checks that it has the text as it was sent. */
async function readBack(request) {
  const { id, text } = request.returned;
  const body = JSON.parse(request.body);
  const { project_id } = body.start;
  const answer = await client.send('/call/read', { project_id, id }, { timeoutMs: TIMEOUT_MS });
  if (answer.status === 'timeout' || answer.status === 503) return;
  const isThere =
    answer.status === 200 &&
    (text.length > READ_CHARACTERS ? answer.size > text.length : answer.text.includes(text));
  if (!isThere) request.status = `${request.status}, and read back ${answer.status} another text`;
}

/** A request that was late beside others may have waited for its turn, so it is sent again alone. */
const isFailure = ({ status, answers = [] }, isAlone) => {
  if (status === 'timeout') return isAlone;
  return typeof status === 'string' || (status >= 500 && ![503, ...answers].includes(status));
};
const described = ({ number, method, path, status, how, body }) =>
  `case ${number}: ${method} ${path.slice(0, 80)} (${how}; ${body?.length ?? 0} bytes) answered ${status}`;

function note({ requests }) {
  const isAlone = requests.length === 1;
  for (const request of requests) {
    if (request.status === 'timeout' && !isAlone) found.late.push(request.number);
    if (!isFailure(request, isAlone)) continue;
    failures.push(described(request));
    console.log(described(request), request.text.slice(0, 200));
    console.log(`    ${request.body?.toString('latin1').slice(0, 300)}`);
    for (const line of service.log.filter((text) => /"level":(50|60|"error")/.test(text)).slice(-1))
      console.log(`    ${line.slice(0, 500)}`);
  }
}

/** Restarts the service after a crash, and finds the request of the group that caused it. */
async function revive() {
  client.close();
  await service.restart();
  client = new Client(service);
}

const keepWorst = (list, one, count, of) => {
  list.push(one);
  list.sort((a, b) => of(b) - of(a));
  list.splice(count);
};
const byDelay = ({ blocked }) => blocked;
const byTime = ({ ms }) => ms;
const byPostgres = ({ postgres }) => postgres;
/** Ranks by growth per byte sent. With --pairs all requests are small, so it ranks by growth alone. */
const byMemory = ({ grown, sent }) =>
  grown > GARBAGE_MIB ? (options.pairs ? grown : grown / sent) : 0;

if (options.case) {
  const one = await cost([Number(options.case)]);
  note(one);
  console.log(
    described(one.requests[0]),
    `blocked for ${one.blocked.toFixed(0)} ms, grown by ${one.grown} MiB`,
  );
  console.log(one.requests[0].headers, one.requests[0].body?.toString('latin1').slice(0, 2000));
  console.log(one.requests[0].text.slice(0, 1000));
} else {
  const { slow, large, lasting, heavy } = found;
  const total = Number(options.cases);
  const started = performance.now();
  const secondsBefore = found.seconds;
  const until = started + Number(options.minutes) * 60_000;
  for (let lines = 0; found.next < total && performance.now() < until; lines++) {
    const count = Math.min(WIDTH, total - found.next);
    const numbers = times(count, (i) => found.next + i);
    const group = await cost(numbers);
    found.next += count;
    note(group);
    for (const { status } of group.requests) seen[status] = (seen[status] ?? 0) + 1;
    const { blocked, grown, sent, ms, postgres, isAlive } = group;
    const kept = { numbers, blocked, grown, sent, ms, postgres };
    keepWorst(slow, kept, SUSPECTS, byDelay);
    if (options.pairs) {
      keepWorst(lasting, kept, SUSPECTS, byTime);
      keepWorst(heavy, kept, SUSPECTS, byPostgres);
    }
    keepWorst(large, kept, SUSPECTS, byMemory);
    if (!isAlive) {
      failures.push(`the process ended in the cases ${numbers}`);
      console.log(failures.at(-1));
    }
    if (!isAlive || service.mebibytes('VmRSS') > 1200) await revive();
    found.seconds = secondsBefore + (performance.now() - started) / 1000;
    if (lines % LINE_EVERY === 0) {
      console.log(`${found.next} cases, ${Math.round(found.seconds)} s, ${JSON.stringify(seen)}`);
      if (options.state) writeFileSync(options.state, JSON.stringify(found));
    }
  }
  const groups = [slow, lasting, heavy, large].flat().filter(({ isSplit }) => !isSplit);
  const suspects = new Set([...found.late, ...groups.flatMap(({ numbers }) => numbers)]);
  const costAlone = async (number) => {
    const one = await cost([number]);
    note(one);
    if (!service.isAlive) await revive();
    return one;
  };
  for (const number of suspects) {
    const { requests, blocked, grown, sent, ms, postgres } = await costAlone(number);
    const [{ method, path, how, status, answered }] = requests;
    const operation = `${method} ${path.slice(0, 40)}`;
    const costs = { blocked, grown, sent, ms, postgres };
    found.alone.push({ number, operation, how: how.slice(0, 40), status, answered, ...costs });
  }
  for (const group of groups) group.isSplit = true;
  found.late = [];
  const measures = [byDelay, byTime, byMemory, ...(options.pairs ? [byPostgres] : [])];
  const worst = new Set(
    measures.flatMap((of) => found.alone.toSorted((a, b) => of(b) - of(a)).slice(0, 2 * WORST)),
  );
  // the better of two, because other work of the machine also delays
  for (const one of worst) {
    if (one.isSure) continue;
    const again = await costAlone(one.number);
    for (const name of ['blocked', 'grown', 'ms', 'postgres'])
      one[name] = Math.min(one[name], again[name]);
    one.isSure = true;
    if (one.blocked > MOST_BLOCKED_MS || one.grown > MOST_MIB || one.postgres > MOST_POSTGRES_MIB)
      failures.push(
        `case ${one.number}: ${one.operation}, alone: ${Math.round(one.blocked)} ms, ${one.grown} MiB, ${one.postgres} MiB of PostgreSQL`,
      );
  }
  found.alone = [...worst];
  const table = (of) =>
    found.alone
      .filter((one) => of(one) > 0)
      .toSorted((a, b) => of(b) - of(a))
      .slice(0, WORST)
      .map(({ number, operation, how, blocked, grown, ms, postgres, sent, answered, status }) => ({
        case: number,
        operation,
        how,
        sent,
        answered,
        status,
        'blocked ms': Math.round(blocked),
        ms: Math.round(ms),
        MiB: grown,
        ...(options.pairs
          ? { 'PostgreSQL MiB': postgres }
          : { 'bytes a byte': Math.round((grown * 1024 * 1024) / sent) }),
      }));
  console.log(`${found.next} cases of seed ${seed} in ${Math.round(found.seconds)} s:`, seen);
  console.log('by the delay of the event loop, sent alone:');
  console.table(table(byDelay));
  console.log('by time, sent alone:');
  console.table(table(byTime));
  console.log(`by memory${options.pairs ? '' : ' a byte sent'}, sent alone:`);
  console.table(table(byMemory));
  if (options.pairs) {
    console.log('by memory of PostgreSQL, sent alone:');
    console.table(table(byPostgres));
  }
}
if (options.state && !options.case) writeFileSync(options.state, JSON.stringify(found));
client.close();
await service.remove();
console.log(failures.length > 0 ? `${failures.length} failures` : 'no failures');
process.exit(failures.length > 0 ? 1 : 0);
