/**
 * Compares the console with that of Phoenix, another tracing service, on the same spans: a trace of 2,000, and 100,000
 * in traces of five, sent to both by OTLP. Prints the time to the first row, the time to open the trace, and the
 * transferred bytes. Phoenix must run with an empty database; Skein is started here.
 *
 *     python3 -m venv /tmp/phoenix && /tmp/phoenix/bin/pip install arize-phoenix
 *     PHOENIX_HOST=127.0.0.1 PHOENIX_WORKING_DIR=/tmp/phoenix-data /tmp/phoenix/bin/phoenix serve
 *     npm run build && node bench/console-phoenix.mjs http://127.0.0.1:6006 [spans=100000]
 *
 * Phoenix opens its gRPC port to all hosts. Each page is opened five times in turns with empty caches; medians count.
 */
import { loadavg } from 'node:os';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { median, newPage, openBrowser, signIn, timeTo } from './browser.mjs';
import { serviceAndDatabase } from './support.mjs';

const [PHOENIX, SPANS = '100000'] = process.argv.slice(2);
if (!PHOENIX) throw new Error('the address of a running Phoenix is missing');
const LARGE = 2000;
const MANY = Number(SPANS);
const ROUNDS = 5;
const AT_ONCE = 1000;
const BEGAN = Math.floor(Date.now() / 1000) - 3600;

const hex = (n, digits) => n.toString(16).padStart(digits, '0');
const text = (n) => `Span ${n}. `.repeat(40);

/** A span as an SDK passes it to its exporter. */
function span({ trace, n, parent, project }) {
  const traceId = hex(trace, 32);
  const isModel = n % 2 === 0;
  return {
    name: isModel ? 'chat' : 'search',
    kind: 0,
    spanContext: () => ({ traceId, spanId: hex(n + 1, 16), traceFlags: 1 }),
    ...(parent !== undefined && {
      parentSpanContext: { traceId, spanId: hex(parent + 1, 16), traceFlags: 1 },
    }),
    startTime: [BEGAN + Math.floor(n / 100), (n % 100) * 1e7],
    endTime: [BEGAN + Math.floor(n / 100), (n % 100) * 1e7 + 8e6],
    ended: true,
    status: { code: n % 500 === 1 ? 2 : 1 },
    attributes: {
      'openinference.span.kind': isModel ? 'LLM' : 'TOOL',
      'input.value': text(n),
      'output.value': text(n + 1),
      ...(isModel && {
        'llm.model_name': 'gpt-4o',
        'llm.token_count.prompt': 100 + (n % 900),
        'llm.token_count.completion': n % 300,
        'llm.token_count.total': 100 + (n % 900) + (n % 300),
      }),
    },
    events: [],
    links: [],
    duration: [0, 8e6],
    resource: resourceFromAttributes({ 'openinference.project.name': project }),
    instrumentationScope: { name: 'bench' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** A tree of spans with ten children below each span except the root. */
const large = (from, to) =>
  Array.from({ length: to - from }, (_, i) => {
    const n = from + i;
    const parent = n === 0 ? undefined : n % 10 === 0 ? 0 : n - (n % 10);
    return span({ trace: 1, n, parent, project: 'large' });
  });
const many = (from, to) =>
  Array.from({ length: to - from }, (_, i) => {
    const n = from + i;
    const root = n - (n % 5);
    const parent = n === root ? undefined : root;
    return span({
      trace: 1000 + root,
      n: 10_000 + n,
      parent: parent && 10_000 + parent,
      project: 'many',
    });
  });

async function send(url, project, body, headers = {}) {
  for (;;) {
    const response = await fetch(`${url}/v1/traces`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-protobuf',
        project_id: `acme/${project}`,
        ...headers,
      },
      body,
    });
    await response.arrayBuffer();
    if (response.ok) return;
    if (response.status !== 503 && response.status !== 429)
      throw new Error(`${url} answers ${response.status}`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** The id of a Phoenix project, after all its spans have arrived. */
async function phoenixProject(name, spans) {
  const query = '{ projects { edges { node { id name recordCount } } } }';
  for (;;) {
    const response = await fetch(`${PHOENIX}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { data } = await response.json();
    const found = data.projects.edges.find(({ node }) => node.name === name)?.node;
    if (found?.recordCount >= spans) return found.id;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

const service = await serviceAndDatabase();
const { browser, close } = await openBrowser();
const { authorization } = service.headers;

async function load() {
  const seconds = { Skein: 0, Phoenix: 0 };
  for (const { project, total, make } of [
    { project: 'large', total: LARGE, make: large },
    { project: 'many', total: MANY, make: many },
  ])
    for (let from = 0; from < total; from += AT_ONCE) {
      const body = ProtobufTraceSerializer.serializeRequest(
        /** @type {any} */ (make(from, Math.min(from + AT_ONCE, total))),
      );
      const began = performance.now();
      await send(service.url, project, body, { authorization });
      const between = performance.now();
      await send(PHOENIX, project, body);
      seconds.Skein += (between - began) / 1000;
      seconds.Phoenix += (performance.now() - between) / 1000;
    }
  const began = performance.now();
  const ids = {
    large: await phoenixProject('large', LARGE),
    many: await phoenixProject('many', MANY),
  };
  seconds.Phoenix += (performance.now() - began) / 1000;
  return { seconds, ids };
}

async function visit(url, selector, isOurs) {
  const { page, wire } = await newPage(browser);
  if (isOurs) await signIn(page, service.url, service.key);
  const seen = await timeTo(page, wire, url, selector);
  await page.context().close();
  return seen;
}

try {
  const { seconds, ids } = await load();
  console.log(`${LARGE + MANY} spans were stored after, in seconds:`);
  console.table({ Skein: seconds.Skein.toFixed(1), Phoenix: seconds.Phoenix.toFixed(1) });
  const traceId = hex(1, 32);
  const ours = `${service.url}/console/p/acme`;
  const theirs = `${PHOENIX}/projects`;
  const PAGES = {
    [`list of ${MANY / 5} traces, first row`]: {
      Skein: [`${ours}/many/traces`, '[role=table] [data-index]'],
      Phoenix: [`${theirs}/${ids.many}/traces`, 'table tbody tr a'],
    },
    [`list of ${MANY} spans, first row`]: {
      Skein: [`${ours}/many/traces?all=true`, '[role=table] [data-index]'],
      Phoenix: [`${theirs}/${ids.many}/spans`, 'table tbody tr a'],
    },
    [`trace of ${LARGE}, first span`]: {
      Skein: [`${ours}/large/traces/${traceId}`, '[role=treeitem]'],
      Phoenix: [
        `${theirs}/${ids.large}/traces/${traceId}`,
        '[data-testid=trace-tree] .trace-tree-toolbar',
      ],
    },
  };
  const table = {};
  for (const [name, pages] of Object.entries(PAGES)) {
    const rounds = { Skein: [], Phoenix: [] };
    for (let n = 0; n < ROUNDS; n++)
      for (const [who, [url, selector]] of Object.entries(pages))
        rounds[who].push(await visit(url, selector, who === 'Skein'));
    for (const [who, seen] of Object.entries(rounds))
      table[`${name}: ${who}`] = {
        ms: Math.round(median(seen.map(({ ms }) => ms))),
        'slowest, ms': Math.round(Math.max(...seen.map(({ ms }) => ms))),
        'over the wire, kB': Math.round(median(seen.map(({ bytes }) => bytes)) / 1000),
        requests: median(seen.map(({ requests }) => requests)),
      };
  }
  console.log(`medians of ${ROUNDS}, load ${loadavg()[0].toFixed(1)}`);
  console.table(table);
} finally {
  await close();
  await service.close();
}
