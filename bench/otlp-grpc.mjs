// Sends the same spans to one service over OTLP/HTTP and OTLP/gRPC in turns. Measures spans per second, Node's CPU per
// span, and the ratio of gRPC to HTTP. Prints Markdown.
//
//     npm run build && node bench/otlp-grpc.mjs [--seconds 1] [--rounds 20] [--senders 4]
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:http2';
import { parseArgs } from 'node:util';
import { lookupType } from '../dist/src/doors/otel/otlp.js';
import { cpuMeter, serviceAndDatabase } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '20' },
    senders: { type: 'string', default: '4' },
  },
});
const GRPC_PORT = 43_179;
const SIZES = [1, 20, 100, 512];
const service = await serviceAndDatabase({
  OTLP_GRPC_PORT: String(GRPC_PORT),
  MAX_CONNECTIONS: '1000',
});
const named = { authorization: service.headers.authorization, project_id: 'acme/bench' };

const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const messages = JSON.stringify([
  { role: 'user', content: 'How is the weather in Rome? '.repeat(20) },
]);
const text = (key, stringValue) => ({ key, value: { stringValue } });
/** A request of `count` spans of about 1 KB with new ids. */
function exportOf(count) {
  const traceId = randomBytes(16);
  const spans = Array.from({ length: count }, () => ({
    traceId,
    spanId: randomBytes(8),
    name: 'chat gpt-4o',
    startTimeUnixNano: '1767225600123456789',
    endTimeUnixNano: '1767225601123456789',
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.response.model', 'gpt-4o'),
      { key: 'gen_ai.usage.input_tokens', value: { intValue: 100 } },
      text('gen_ai.input.messages', messages),
    ],
  }));
  const resource = { attributes: [text('service.name', 'bench')] };
  return REQUEST.encode(
    REQUEST.fromObject({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }),
  ).finish();
}

/** Senders that send one body at a time on a connection of their own; `close` ends it. */
const SENDERS = {
  http() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { ...named, 'content-type': 'application/x-protobuf' };
    return {
      async send(bytes) {
        const sent = request(`${service.url}/otel/v1/traces`, { agent, method: 'POST', headers });
        sent.end(bytes);
        const [response] = await once(sent, 'response');
        response.resume();
        await once(response, 'end');
        if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`);
      },
      close: () => agent.destroy(),
    };
  },
  grpc() {
    const session = connect(`http://127.0.0.1:${GRPC_PORT}`);
    const headers = {
      ...named,
      ':method': 'POST',
      ':path': '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      'content-type': 'application/grpc',
      te: 'trailers',
    };
    return {
      async send(bytes) {
        const frame = Buffer.alloc(5 + bytes.length);
        frame.writeUInt32BE(bytes.length, 1);
        frame.set(bytes, 5);
        const stream = session.request(headers);
        stream.end(frame);
        stream.resume();
        let status, told;
        stream.on('response', (given) => {
          status = given['grpc-status'];
          told = given['grpc-message'];
        });
        stream.on('trailers', (given) => {
          status = given['grpc-status'];
          told = given['grpc-message'];
        });
        await once(stream, 'close');
        if (status !== '0') throw new Error(`gRPC ${status} ${told}`);
      },
      close: () => session.close(),
    };
  },
};

/** Runs a round of one kind and returns its throughput. The bodies are made before. */
async function round(kind, size) {
  const senders = Array.from({ length: Number(options.senders) }, SENDERS[kind]);
  const bodies = Array.from({ length: Math.ceil(3000 / size) }, () => exportOf(size));
  await Promise.all(senders.map(({ send }) => send(exportOf(1))));
  const cpu = cpuMeter(service.child.pid);
  const start = performance.now();
  const end = start + Number(options.seconds) * 1000;
  let requests = 0;
  await Promise.all(
    senders.map(async ({ send }) => {
      while (performance.now() < end) await send(bodies[requests++ % bodies.length]);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  for (const { close } of senders) close();
  return { spans: requests * size, seconds, cpu: cpu().service };
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const sum = (list) => list.reduce((total, one) => total + one, 0);
const rateOf = ({ spans, seconds }) => spans / seconds;

/** A row of the table. Each gRPC round is compared with the HTTP round next to it, since a busy machine slows both. */
async function row(size) {
  const rounds = { http: [], grpc: [] };
  for (const kind of ['http', 'grpc']) await round(kind, size); // the first requests of a kind compile its code
  for (let i = 0; i < Number(options.rounds); i++)
    for (const kind of i % 2 ? ['grpc', 'http'] : ['http', 'grpc'])
      rounds[kind].push(await round(kind, size));
  const ratios = rounds.http.map((http, i) => rateOf(rounds.grpc[i]) / rateOf(http));
  const rate = (kind) => median(rounds[kind].map(rateOf)).toFixed(0);
  const micros = (kind) =>
    (
      (1e6 * sum(rounds[kind].map(({ cpu }) => cpu))) /
      sum(rounds[kind].map(({ spans }) => spans))
    ).toFixed(0);
  return [
    size,
    rate('http'),
    rate('grpc'),
    median(ratios).toFixed(2),
    micros('http'),
    micros('grpc'),
  ];
}

const TITLES = [
  'spans a request',
  'HTTP, spans/s',
  'gRPC, spans/s',
  'gRPC of HTTP',
  'Node, µs a span: HTTP',
  'gRPC',
];
try {
  for (const cells of [TITLES, TITLES.map(() => '---')]) console.log(`| ${cells.join(' | ')} |`);
  for (const size of SIZES) console.log(`| ${(await row(size)).join(' | ')} |`);
} finally {
  await service.close();
}
