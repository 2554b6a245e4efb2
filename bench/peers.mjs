/**
 * Sends the same spans as OTLP protobuf to Skein and to peers that run already, in turns. Measures the spans per second
 * that each stores in its default store. Skein is started here on an embedded PostgreSQL. Prints Markdown.
 *
 *     python3 -m venv /tmp/mlflow && /tmp/mlflow/bin/pip install mlflow==3.17.2
 *     mkdir /tmp/mlflow-data && cd /tmp/mlflow-data && /tmp/mlflow/bin/mlflow server --port 5000
 *
 *     python3 -m venv /tmp/phoenix && /tmp/phoenix/bin/pip install arize-phoenix==20.26.1
 *     PHOENIX_HOST=127.0.0.1 PHOENIX_WORKING_DIR=/tmp/phoenix-data /tmp/phoenix/bin/phoenix serve
 *     npm run build && node bench/peers.mjs [seconds=3] [rounds=4] [spans a trace=1] \
 *       mlflow=http://127.0.0.1:5000/v1/traces phoenix=http://127.0.0.1:6006/v1/traces
 *
 * Phoenix opens its gRPC port to all hosts.
 *
 * A turn is `seconds` of requests on 8 connections, 100 spans each. Then it waits until all acknowledged spans can be
 * counted, so the time of storing counts even for a peer that acknowledges first. After a refused request a connection
 * waits 100 ms; the spans count as refused only. One second of each peer comes first and does not count.
 *
 * Each turn is printed on stderr, with the load of the machine at its end.
 */
import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { lookupType } from '../dist/src/doors/otel/otlp.js';
import { serviceAndDatabase } from './support.mjs';
import { callBodies } from './write-bodies.mjs';

const given = process.argv.slice(2);
const [SECONDS = 3, ROUNDS = 4, A_TRACE = 1] = given.filter((one) => /^\d+$/.test(one)).map(Number);
const SPANS = 100;
const CONNECTIONS = 8;
const REFUSED_MS = 100;
const POLL_MS = 500;
/** A peer that stores nothing more for this long has lost the rest. */
const LOST_MS = 20_000;
const PROJECT = 'acme/peers';

async function answerOf(url, body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}: ${await response.text()}`);
  return response.json();
}

/**
 * The headers that a peer needs, and a function that returns its number of stored spans.
 * @type {Record<string, { headers: Record<string, string>, stored: (origin: string) => Promise<number> }>}
 */
const PEERS = {
  mlflow: {
    headers: { 'x-mlflow-experiment-id': '0' },
    async stored(origin) {
      const { data_points: points } = await answerOf(`${origin}/api/3.0/mlflow/traces/metrics`, {
        experiment_ids: ['0'],
        view_type: 'SPANS',
        metric_name: 'span_count',
        aggregations: [{ aggregation_type: 'COUNT' }],
      });
      return points[0]?.values.COUNT ?? 0;
    },
  },
  phoenix: {
    headers: { 'x-project-name': 'peers' },
    async stored(origin) {
      const query = '{ projects { edges { node { name recordCount } } } }';
      const { data } = await answerOf(`${origin}/graphql`, { query });
      return data.projects.edges.find(({ node }) => node.name === 'peers')?.node.recordCount ?? 0;
    },
  },
};

function peerOf(argument) {
  const [name, url] = argument.split(/=(.*)/s);
  if (!PEERS[name] || !URL.canParse(url))
    throw new Error(`"${argument}" is not one of ${Object.keys(PEERS).join(', ')} with =URL`);
  const { headers, stored } = PEERS[name];
  return { name, url, headers, stored: () => stored(new URL(url).origin) };
}

const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const RESPONSE = lookupType('collector.trace.v1.ExportTraceServiceResponse');

/** Returns a function that makes requests with new ids. The first span of a trace is the parent of its others. */
function bodies() {
  const message = /** @type {any} */ (REQUEST.decode(callBodies(PROJECT, SPANS).protobuf()));
  const ids = [];
  const newId = (bytes) => {
    ids.push(randomFillSync(Buffer.alloc(bytes)));
    return ids.at(-1);
  };
  let root;
  for (const [i, span] of message.resourceSpans[0].scopeSpans[0].spans.entries()) {
    const isRoot = i % A_TRACE === 0;
    span.traceId = isRoot ? newId(16) : root.traceId;
    span.spanId = newId(8);
    if (isRoot) root = span;
    else span.parentSpanId = root.spanId;
  }
  const form = Buffer.from(REQUEST.encode(message).finish());
  const places = ids.map((id) => {
    const at = [];
    for (let i = form.indexOf(id); i >= 0; i = form.indexOf(id, i + id.length)) at.push(i);
    return { at, bytes: id.length };
  });
  return () => {
    const body = Buffer.from(form);
    for (const { at, bytes } of places) {
      randomFillSync(body, at[0], bytes);
      for (const i of at.slice(1)) body.copy(body, i, at[0], at[0] + bytes);
    }
    return body;
  };
}
const newBody = bodies();

/** Sends a request. Returns the number of acknowledged spans, and the status of a refusal. */
async function send({ url, headers }, agent) {
  const sent = request(url, {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf', ...headers },
  });
  sent.end(newBody());
  const [response] = await once(sent, 'response');
  const chunks = await response.toArray();
  if (response.statusCode !== 200) return { acknowledged: 0, status: response.statusCode };
  const { partialSuccess } = /** @type {any} */ (RESPONSE.decode(Buffer.concat(chunks)));
  return { acknowledged: SPANS - Number(partialSuccess?.rejectedSpans ?? 0), status: 200 };
}

/** Waits until all spans are stored or no more arrive. Returns their number and the time. */
async function settled(target, wanted) {
  let stored = -1;
  let at;
  for (;;) {
    const asked = performance.now();
    const now = await target.stored();
    if (now > stored) [stored, at] = [now, asked];
    if (stored >= wanted || asked - at > LOST_MS) return { stored, at };
    await pause(POLL_MS);
  }
}

async function turn(target, seconds) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const before = await target.stored();
  const refusals = new Map();
  let acknowledged = 0;
  let refused = 0;
  const start = performance.now();
  const end = start + seconds * 1000;
  const sender = async () => {
    while (performance.now() < end) {
      const { acknowledged: spans, status } = await send(target, agent);
      acknowledged += spans;
      refused += SPANS - spans;
      if (spans === SPANS) continue;
      refusals.set(status, (refusals.get(status) ?? 0) + 1);
      await pause(REFUSED_MS);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  const sending = (performance.now() - start) / 1000;
  agent.destroy();
  const { stored, at } = await settled(target, before + acknowledged);
  return {
    acknowledged,
    refused,
    refusals,
    sending,
    stored: stored - before,
    seconds: (at - start) / 1000,
  };
}

const sumOf = (turns, of) => turns.reduce((sum, one) => sum + one[of], 0);
const rateOf = (turns) => sumOf(turns, 'stored') / sumOf(turns, 'seconds');
const whole = (n) => Math.round(n).toLocaleString('en');

const peers = given.filter((one) => !/^\d+$/.test(one)).map(peerOf);
if (peers.length === 0) throw new Error('no peer is named: mlflow=URL phoenix=URL');
const service = await serviceAndDatabase();
const skein = {
  name: 'Skein',
  url: `${service.url}/otel/v1/traces`,
  headers: { authorization: service.headers.authorization, project_id: PROJECT },
  stored: async () =>
    (await answerOf(`${service.url}/calls/query_stats`, { project_id: PROJECT }, service.headers))
      .count,
};
const targets = [skein, ...peers];

try {
  const loads = [];
  const turns = new Map(targets.map((target) => [target, []]));
  for (const target of targets) await turn(target, 1); // does not count
  for (let n = 0; n < ROUNDS; n++)
    for (const target of n % 2 ? targets.toReversed() : targets) {
      const its = await turn(target, SECONDS);
      turns.get(target).push(its);
      loads.push(loadavg()[0]);
      console.error(
        `round ${n + 1}, ${target.name}: ${whole(its.acknowledged)} acknowledged in ${its.sending.toFixed(1)} s, ` +
          `${whole(its.stored)} stored in ${its.seconds.toFixed(1)} s, ${whole(its.refused)} refused, load ${loads.at(-1).toFixed(1)}`,
      );
    }
  console.log(
    `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0].model}, ${ROUNDS} rounds of ${SECONDS} s, ` +
      `requests of ${SPANS} spans in traces of ${A_TRACE}, ${newBody().length / SPANS} bytes a span, ` +
      `${CONNECTIONS} connections, load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}\n\n` +
      '| | stored, spans/s | each round | acknowledged, spans/s while sending | sent for, s | stored after, s | acknowledged | stored | refused | Skein by it | in each round |\n' +
      '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|',
  );
  for (const [{ name }, its] of turns) {
    const refusals = its.flatMap(({ refusals }) => [...refusals]);
    const statuses = [...new Set(refusals.map(([status]) => status))].join(', ');
    const ratios = its.map((one, n) => rateOf([turns.get(skein)[n]]) / rateOf([one]));
    console.log(
      `| ${[
        name,
        whole(rateOf(its)),
        its.map((one) => whole(rateOf([one]))).join(', '),
        whole(sumOf(its, 'acknowledged') / sumOf(its, 'sending')),
        sumOf(its, 'sending').toFixed(1),
        sumOf(its, 'seconds').toFixed(1),
        whole(sumOf(its, 'acknowledged')),
        whole(sumOf(its, 'stored')),
        whole(sumOf(its, 'refused')) + (statuses && ` (${statuses})`),
        `**${(rateOf(turns.get(skein)) / rateOf(its)).toFixed(1)}**`,
        ratios.map((ratio) => ratio.toFixed(1)).join(', '),
      ].join(' | ')} |`,
    );
  }
} finally {
  await service.close();
}
