// Looks for requests that cost the service much: 10⁵ bodies made from its own OpenAPI document (bodies.mjs), sent a few
// at a time to the built service. The groups in which the event loop was blocked longest, or memory grew most for what was sent, are sent
// again request by request; the ten worst of each kind are printed, and each 5xx that is not a 503.
//   npm run attack:generate -- [--cases 100000] [--seed 1]        [--case N] sends one again and prints it; exits 1 on a 5xx
import { parseArgs } from 'node:util';
import { operationsOf, requestOf } from './bodies.mjs';
import { Client, FORM, multipart, times } from './client.mjs';
import { Service } from './service.mjs';

const { values: options } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
  },
});
const WIDTH = 8;
const SUSPECTS = 20;
const WORST = 10;
/** Less growth than this is the garbage that any request leaves. */
const GARBAGE_MIB = 16;
const TIMEOUT_MS = 30_000;

const service = await new Service().start();
process.on('exit', () => service.child.kill('SIGKILL'));
let client = new Client(service);
const document = await (await fetch(`${service.url}/openapi.json`)).json();
const operations = operationsOf(document);
const stored = await store('acme/stored');
const seed = Number(options.seed);
const failures = [];
const seen = {};

/** What the bodies refer to. */
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

/** Sends the requests together; what /health, memory and the answers were meanwhile. */
async function cost(numbers) {
  const requests = numbers.map((number) => ({
    number,
    ...requestOf(document, operations, { seed, number, stored }),
  }));
  await service.probe.report();
  service.resetPeak();
  const before = service.mebibytes('VmRSS');
  const cpuBefore = service.loopSeconds();
  await Promise.all(
    requests.map(async (request) => {
      const { method, path, body, headers } = request;
      const as = path.includes('/trainer/') ? 'trainer' : 'attacker';
      const answer = await client.send(path, body, { method, headers, as, timeoutMs: TIMEOUT_MS });
      Object.assign(request, { status: answer.status, text: answer.text, answered: answer.size });
    }),
  );
  const { worst } = (await service.probe.report()).health;
  const isAlive = service.isAlive;
  // a loop is not blocked for longer than its thread has run: the rest is a machine with other work
  const blocked = isAlive ? Math.min(worst, (service.loopSeconds() - cpuBefore) * 1000) : worst;
  const grown = isAlive ? service.mebibytes('VmHWM') - before : NaN;
  const sent =
    requests.reduce((sum, { body }) => sum + (body?.length ?? 0), 0) + 200 * requests.length; // with heads
  return { requests, blocked, grown, sent, isAlive };
}

const isFailure = ({ status }) => (status >= 500 ? status !== 503 : typeof status === 'string');
const described = ({ number, method, path, status, how, body }) =>
  `case ${number}: ${method} ${path.slice(0, 80)} (${how}; ${body?.length ?? 0} bytes) answered ${status}`;

function note({ requests }) {
  for (const request of requests) {
    seen[request.status] = (seen[request.status] ?? 0) + 1;
    if (!isFailure(request)) continue;
    failures.push(described(request));
    console.log(described(request), request.text.slice(0, 200));
    console.log(`    ${request.body?.toString('latin1').slice(0, 300)}`);
    for (const line of service.log.filter((text) => /"level":(50|60|"error")/.test(text)).slice(-1))
      console.log(`    ${line.slice(0, 500)}`);
  }
}

/** Starts anew after a death; finds who of a group it was. */
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
const byMemory = ({ grown, sent }) => (grown > GARBAGE_MIB ? grown / sent : 0);

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
  const slow = [];
  const large = [];
  const total = Number(options.cases);
  const started = performance.now();
  for (let first = 0; first < total; first += WIDTH) {
    const group = await cost(
      Array.from({ length: Math.min(WIDTH, total - first) }, (_, i) => first + i),
    );
    note(group);
    const numbers = group.requests.map(({ number }) => number);
    const { blocked, grown, sent, isAlive } = group;
    keepWorst(slow, { numbers, blocked }, SUSPECTS, byDelay);
    keepWorst(large, { numbers, grown, sent }, SUSPECTS, byMemory);
    if (!isAlive) {
      failures.push(`the process ended in the cases ${numbers}`);
      console.log(failures.at(-1));
    }
    if (!isAlive || service.mebibytes('VmRSS') > 1200) await revive();
    if (first % 8000 === 0)
      console.log(
        `${first} cases, ${Math.round((performance.now() - started) / 1000)} s, ${JSON.stringify(seen)}`,
      );
  }
  const suspects = new Set(
    [...slow, ...large.filter((one) => byMemory(one) > 0)].flatMap(({ numbers }) => numbers),
  );
  const alone = [];
  for (const number of suspects) {
    const runs = [await cost([number])];
    if (!service.isAlive) await revive();
    runs.push(await cost([number])); // the better of two: what else the machine does is not its doing
    if (!service.isAlive) await revive();
    const [{ requests }] = runs;
    const blocked = Math.min(...runs.map(byDelay));
    const grown = Math.min(...runs.map((run) => run.grown));
    alone.push({ ...requests[0], blocked, grown, sent: runs[0].sent });
  }
  const table = (of) =>
    alone
      .filter((one) => of(one) > 0)
      .toSorted((a, b) => of(b) - of(a))
      .slice(0, WORST)
      .map(({ number, method, path, how, blocked, grown, sent, answered, status }) => ({
        case: number,
        operation: `${method} ${path.slice(0, 40)}`,
        how: how.slice(0, 40),
        sent,
        answered,
        status,
        'blocked ms': Math.round(blocked),
        MiB: grown,
        'bytes a byte': Math.round((grown * 1024 * 1024) / sent),
      }));
  console.log(
    `${total} cases of seed ${seed} in ${Math.round((performance.now() - started) / 1000)} s:`,
    seen,
  );
  console.log('by the delay of the event loop, sent alone:');
  console.table(table(byDelay));
  console.log('by memory a byte sent, sent alone:');
  console.table(table(byMemory));
}
client.close();
await service.remove();
console.log(failures.length > 0 ? `${failures.length} failures` : 'no failures');
process.exit(failures.length > 0 ? 1 : 0);
