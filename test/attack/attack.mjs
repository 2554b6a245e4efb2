// Runs the cases of test/attack/cases against the built service. Each case tries to stop, starve or mislead it.
//
//   npm run attack [-- [--quick] [--health-ms 1000] [--memory-mib 1024] [--postgres-mib 4096]
//                      [--seconds 60] <words of a case>]
//
// For each case it prints the slowest /health, and the slowest start or read of a call by another key.
// It also prints the peak of resident memory, the memory of PostgreSQL without its cache, and the answers.
// It exits with 1 when a limit is exceeded or an answer is wrong. A start or a read of another key may take five times
// as long as /health. All connections are on loopback.
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from './client.mjs';
import { QUICK_KEYS, Service } from './service.mjs';

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    'health-ms': { type: 'string', default: '1000' },
    'memory-mib': { type: 'string', default: '1024' },
    'postgres-mib': { type: 'string', default: '4096' },
    seconds: { type: 'string', default: '60' },
  },
});
/** A service that is larger than this after a case is restarted, so that the next case has its own peak. */
const RESTART_MIB = 350;
const DEADLINE_MS = 90_000;
/** How long another key's /call/start is measured before a case, for comparison. */
const QUIET_MS = 2000;
/** Statuses that the API document declares. 503 is the only 5xx. */
const DECLARED = [200, 204, 400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 431, 503];

async function allCases() {
  const folder = new URL('cases/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.mjs'));
  const modules = await Promise.all(
    files.toSorted().map((name) => import(new URL(name, folder).href)),
  );
  return modules.flatMap((module) => module.cases);
}
const isWanted = ({ name, isQuick }) =>
  words.every((word) => name.includes(word)) && (!options.quick || isQuick);

/** Runs one case. Returns the measurements and the problems found. */
async function outcome(service, { attack, answers, deadlineMs, healthMs = 0, memoryMiB = 0 }) {
  const client = new Client(service, {
    seconds: Number(options.seconds),
    slowness: Number(options['health-ms']) / 1000,
    isQuick: options.quick,
  });
  await service.probe.report();
  if (!options.quick) await pause(QUIET_MS);
  const quiet = (await service.probe.report()).start.p99;
  service.resetPeak();
  let postgres = 0;
  const watch = setInterval(() => (postgres = Math.max(postgres, service.postgres.all)), 100);
  const ended = attack(client).then(
    () => true,
    (error) => client.must(false, `the attack itself failed: ${error.stack}`),
  );
  const patience = new AbortController();
  const isOver = await Promise.race([
    ended,
    pause(deadlineMs ?? DEADLINE_MS, false, { signal: patience.signal }).catch(() => {}),
  ]);
  patience.abort();
  clearInterval(watch);
  await pause(100); // so that a waiting probe gets its answer
  const { health, start } = await service.probe.report();
  client.close();
  const { problems } = client;
  const must = (holds, problem) => client.must(holds, problem);
  must(isOver !== false, 'it did not end in time');
  must(service.isAlive, 'the process ended');
  const peak = service.isAlive ? service.mebibytes('VmHWM') : NaN;
  const allowedMs = Math.max(Number(options['health-ms']), healthMs);
  must(postgres <= Number(options['postgres-mib']), 'too much memory of PostgreSQL');
  must(health.worst <= allowedMs, 'slow /health');
  must(start.worst <= 5 * allowedMs, "another key's start or read is slow");
  must(!health.statuses.cut, '/health was not answered');
  must(!(peak > Math.max(Number(options['memory-mib']), memoryMiB)), 'too much memory');
  const others = Object.keys(start.statuses).filter(
    (status) => !['200', 'closed'].includes(status),
  );
  must(others.length === 0, `another key's start or read: ${others}`);
  for (const status of Object.keys(client.statuses))
    must((answers ?? DECLARED).map(String).includes(status), `answered ${status}`);
  return { health, start, quiet, peak, postgres, statuses: client.statuses, problems };
}

const cases = (await allCases()).filter(isWanted);
const service = await (
  options.quick ? new Service(50, { MAX_KEYS_PER_ENTITY: String(QUICK_KEYS) }) : new Service()
).start();
process.on('exit', () => service.child.kill('SIGKILL'));
const rows = [];
try {
  for (const one of cases) {
    const began = performance.now();
    const { health, start, quiet, peak, postgres, statuses, problems } = await outcome(
      service,
      one,
    );
    const answers = Object.entries(statuses).map(([status, count]) => `${status}×${count}`);
    rows.push({
      case: one.name,
      seconds: Math.round((performance.now() - began) / 1000),
      '/health ms': Math.round(health.worst),
      'start, read ms': Math.round(start.worst),
      'p99 ms': Math.round(start.p99),
      'p99 before': Math.round(quiet),
      MiB: peak,
      'PostgreSQL MiB': postgres,
      answers: answers.join(' '),
      verdict: problems.length === 0 ? 'PASS' : 'FAIL',
      why: problems.join('; '),
    });
    console.log(Object.values(rows.at(-1)).join(' | '));
    if (problems.length > 0 && service.isAlive)
      for (const line of service.log
        .filter((text) => /"level":(50|60|"error"|"fatal")/.test(text))
        .slice(-3))
        console.log(`    ${line.slice(0, 600)}`);
    const isLarge = service.isAlive && service.mebibytes('VmRSS') > RESTART_MIB;
    if (!service.isAlive || isLarge || problems.length > 0) await service.restart();
  }
} finally {
  await service.remove();
}
console.table(rows.map(({ why: _why, ...row }) => row));
const failed = rows.filter(({ verdict }) => verdict === 'FAIL');
for (const row of failed) console.log(`FAIL ${row.case}: ${row.why}`);
console.log(`${rows.length - failed.length} of ${rows.length} attacks held`);
process.exit(failed.length > 0 || rows.length === 0 ? 1 : 0);
