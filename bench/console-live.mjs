/**
 * Measures pages of the console that follow a project while calls arrive: growth of the heap after garbage collection,
 * and long tasks that block the browser. Each page is open alone. Starts an embedded PostgreSQL, the service, and a
 * browser without a GPU.
 *
 *     npm run build && node bench/console-live.mjs [seconds for each page=150] [calls a second=200] [words of a page]
 *
 * A call is a root or one of four calls below it. The first seconds do not count, because a page still grows then.
 * Tasks take longer on a busy machine, so the load is printed.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { heapOf, newPage, openBrowser, signIn } from './browser.mjs';
import { serviceAndDatabase } from './support.mjs';

const [SECONDS = 150, RATE = 200] = process.argv.slice(2, 4).map(Number);
const WANTED = process.argv[4] ?? '';
const WARM_UP_MS = 10_000;
const BATCHES = 5;
const PROJECT = 'acme/live';

const service = await serviceAndDatabase();
const { url, key, headers } = service;
const { browser, close } = await openBrowser();
let sent = 0;

function batch() {
  const began = Date.now();
  const items = [];
  for (let n = 0; n < RATE / BATCHES; n++, sent++) {
    const root = `live-${sent - (sent % 5)}`;
    const id = `live-${sent}`;
    const call = { project_id: PROJECT, id };
    items.push(
      {
        mode: 'start',
        req: {
          start: {
            ...call,
            op_name: `op ${sent % 7}`,
            trace_id: root,
            ...(id !== root && { parent_id: root }),
            started_at: new Date(began - 40 + n * 0.1).toISOString(),
            attributes: {},
            inputs: { text: `Question ${sent}` },
          },
        },
      },
      {
        mode: 'end',
        req: {
          end: {
            ...call,
            ended_at: new Date(began).toISOString(),
            output: `Answer ${sent}`,
            summary: { usage: { 'gpt-4o': { prompt_tokens: 100, completion_tokens: 20 } } },
          },
        },
      },
    );
  }
  return JSON.stringify({ batch: items });
}

/** Sends calls at the rate until it is stopped. */
function load() {
  let isOver = false;
  const done = (async () => {
    for (let next = Date.now(); !isOver; next += 1000 / BATCHES) {
      const answer = await fetch(`${url}/call/upsert_batch`, {
        method: 'POST',
        headers,
        body: batch(),
      });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.arrayBuffer();
      await sleep(Math.max(0, next + 1000 / BATCHES - Date.now()));
    }
  })();
  return () => {
    isOver = true;
    return done;
  };
}

const PAGES = {
  traces: { path: '/traces', selector: '[role=table] [data-index]' },
  'all calls': { path: '/traces?all=true', selector: '[role=table] [data-index]' },
  metrics: { path: '/metrics', selector: 'main canvas' },
};

async function watched({ path, selector }) {
  const { page, devtools, wire } = await newPage(browser);
  await signIn(page, url, key);
  await page.addInitScript(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.tasks.push(duration);
    }).observe({ type: 'longtask' });
  });
  await page.goto(`${url}/console/p/${PROJECT}${path}`);
  await page.locator(selector).first().waitFor();
  await page.waitForTimeout(WARM_UP_MS);
  await page.evaluate(() => void (globalThis.tasks = []));
  const before = await heapOf(devtools);
  const [bytes, calls] = [wire.bytes, sent];
  await page.waitForTimeout(SECONDS * 1000);
  const tasks = await page.evaluate(() => globalThis.tasks);
  const after = await heapOf(devtools);
  await page.context().close();
  return {
    'calls a second': Math.round((sent - calls) / SECONDS),
    'heap before, MB': Number(before.toFixed(1)),
    'grown by, MB': Number((after - before).toFixed(1)),
    'tasks above 50 ms': tasks.length,
    'longest task, ms': Math.round(Math.max(0, ...tasks)),
    'over the wire, kB/s': Math.round((wire.bytes - bytes) / 1000 / SECONDS),
  };
}

try {
  const stop = load();
  await sleep(2000);
  const table = {};
  for (const [name, page] of Object.entries(PAGES))
    if (name.includes(WANTED)) table[name] = await watched(page);
  await stop();
  console.log(`${SECONDS} s for each page, load ${loadavg()[0].toFixed(1)}`);
  console.table(table);
} finally {
  await close();
  await service.close();
}
