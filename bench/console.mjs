/**
 * Measures the console: the size of its files, and the time to the first rows of a large project. Then the time to open
 * a large trace, the smoothness of its scrolling, and its memory. Starts an embedded PostgreSQL, the service, and a
 * browser without a GPU.
 *
 *     npm run build && node bench/console.mjs [calls=1000000] [calls of the trace=50000]
 *
 * Each page is opened five times with empty caches; the median counts. All of it is slower on a busy machine, so the
 * load is printed. The page shows the first 50,000 calls of a longer trace.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { heapOf, median, newPage, openBrowser, scrolled, signIn, timeTo } from './browser.mjs';
import { serviceAndDatabase } from './support.mjs';

const [CALLS = 1e6, LARGE = 5e4] = process.argv.slice(2).map(Number);
const ROUNDS = 5;
const AT_ONCE = 20_000;
const ASSETS = new URL('../dist/console/assets/', import.meta.url);

const load = () => loadavg()[0].toFixed(1);
const ms = (value) => Number(value.toFixed(value < 100 ? 1 : 0));
const kb = (value) => Number((value / 1000).toFixed(1));

const FILES = readdirSync(ASSETS)
  .filter((name) => !name.endsWith('.gz'))
  .map((name) => {
    const bytes = readFileSync(new URL(name, ASSETS));
    return { name, size: bytes.length, gzip: gzipSync(bytes).length };
  });
const kinds = {};
for (const file of FILES)
  (kinds[file.name.slice(file.name.lastIndexOf('.') + 1)] ??= []).push(file);
console.log('files, in kB');
console.table(
  Object.fromEntries(
    Object.entries(kinds).map(([kind, files]) => [
      kind,
      {
        files: files.length,
        size: kb(files.reduce((sum, { size }) => sum + size, 0)),
        gzip: kb(files.reduce((sum, { gzip }) => sum + gzip, 0)),
        'largest, gzip': kb(Math.max(...files.map(({ gzip }) => gzip))),
      },
    ]),
  ),
);

/** Inserts traces of five calls, a minute apart. */
const MANY = `
  INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, user_id, started_at, ended_at, exception, attributes, inputs, output, summary)
  SELECT 'acme/many', id, 'op' || n % 7, root, CASE WHEN n % 5 > 0 THEN root END, 'ada', at, at + random() * interval '3 s',
    CASE WHEN n % 500 = 0 THEN 'no' END, '{}', json_build_object('text', repeat(md5(n::text), 24)),
    json_build_object('text', repeat(md5((n + 1)::text), 24)),
    json_build_object('usage', json_build_object('gpt-4o', json_build_object('prompt_tokens', 100 + n % 1000, 'completion_tokens', n % 300)))
  FROM (SELECT n, 'call-' || n AS id, 'call-' || n - n % 5 AS root, now() - interval '1 s' * (${CALLS} - n) AS at
    FROM generate_series($1::int, $2::int) n) t`;

/** Inserts one trace with ten calls below each call except the root. */
const ONE = `
  INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, user_id, started_at, ended_at, attributes, inputs, output, summary)
  SELECT 'acme/large', 'n' || n, 'step ' || n, 'n0', CASE WHEN n = 0 THEN NULL WHEN n % 10 = 0 THEN 'n0' ELSE 'n' || n - n % 10 END,
    'ada', at, at + interval '5 ms', '{}', '{"question":"why?"}', '{"answer":"so"}', '{}'
  FROM (SELECT n, now() - interval '1 hour' + n * interval '1 ms' AS at FROM generate_series($1::int, $2::int) n) t`;

const service = await serviceAndDatabase();
const { url, key, client } = service;
const { browser, close } = await openBrowser();

async function fill(statement, total) {
  for (let n = 0; n < total; n += AT_ONCE)
    await client.query(statement, [n, Math.min(n + AT_ONCE, total) - 1]);
}

/** Opens a page several times. `more` measures the last one. */
async function opened(path, selector, more = async (_page, _devtools) => ({})) {
  const rounds = [];
  for (let n = 0; n < ROUNDS; n++) {
    const { page, wire, devtools } = await newPage(browser);
    await signIn(page, url, key);
    const round = await timeTo(page, wire, `${url}/console${path}`, selector);
    rounds.push({ ...round, ...(n === ROUNDS - 1 && (await more(page, devtools))) });
    await page.context().close();
  }
  const { ms: _, bytes, requests, ...found } = rounds.at(-1);
  return {
    'first row, ms': ms(median(rounds.map((round) => round.ms))),
    'slowest, ms': ms(Math.max(...rounds.map((round) => round.ms))),
    'over the wire, kB': kb(bytes),
    requests,
    ...found,
  };
}

const memory = async (_page, devtools) => ({ 'heap, MB': ms(await heapOf(devtools)) });

try {
  await fill(MANY, CALLS);
  await fill(ONE, LARGE);
  // the service reads the usage of rows inserted by SQL, and each of these changes would refresh the pages
  while ((await client.query('SELECT FROM calls WHERE has_unread_usage LIMIT 1')).rowCount > 0)
    await sleep(500);
  await client.query('VACUUM (ANALYZE) calls');
  const PROJECT = '/p/acme/many';
  console.log(`${CALLS} calls, a trace of ${LARGE}, medians of ${ROUNDS}, load ${load()}`);
  const frames = { 'p50, ms': 0, 'p99, ms': 0, 'worst, ms': 0 };
  console.table({
    'an empty project': await opened('/p/acme/none/traces', 'main h2', memory),
    'newest traces': await opened(`${PROJECT}/traces`, '[role=table] [data-index]', memory),
    'errors among them': await opened(
      `${PROJECT}/traces?q=status%3Derror`,
      '[role=table] [data-index]',
      memory,
    ),
    metrics: await opened(`${PROJECT}/metrics`, 'main canvas', memory),
    'a trace of five': await opened(`${PROJECT}/traces/call-0`, '[role=treeitem]', memory),
    [`a trace of ${LARGE}`]: await opened(
      '/p/acme/large/traces/n0',
      '[role=treeitem]',
      async (page, devtools) => {
        const heap = await memory(page, devtools);
        const times = await scrolled(page, '[role=tree]');
        frames['p50, ms'] = ms(times[Math.floor(times.length / 2)]);
        frames['p99, ms'] = ms(times[Math.floor(times.length * 0.99)]);
        frames['worst, ms'] = ms(times.at(-1));
        return heap;
      },
    ),
  });
  console.log(`frames while a trace of ${LARGE} is scrolled through in 300 steps, load ${load()}`);
  console.table({ frames });
} finally {
  await close();
  await service.close();
}
