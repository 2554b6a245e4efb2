// Records the telemetry that instrumentations export, as fixtures of src/doors/otel/conventions.spec.ts. Starts an OTLP
// receiver (HTTP and gRPC) and a model server that always gives the same answers (fake-provider.mjs), and runs a
// program against both. The command writes test/fixtures/otlp/<name>.json:
//
//   node scripts/record-otlp.mjs <name> <command> [<argument> …]
//
// The file contains the spans, and the calls that they become. It also contains log records with messages, and the
// parts of calls that they become. Read these before you commit them. With a name alone, the script only makes the
// results again. The programs are in test/fixtures/otlp/programs/; each lists the packages to install.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { GrpcDoor } from '../dist/src/doors/otel/grpc/grpc-door.js';
import { readLogPart } from '../dist/src/doors/otel/log-messages.js';
import { logsOfJson, logsOfProtobuf } from '../dist/src/doors/otel/otlp-logs.js';
import { spansOfJson, spansOfProtobuf } from '../dist/src/doors/otel/otlp.js';
import { toCall } from '../dist/src/doors/otel/span-call.js';
import { answerAsProvider } from './fake-provider.mjs';

const [name, command, ...args] = process.argv.slice(2);

async function recorded() {
  const spans = [];
  const logs = [];
  const server = createServer((request, response) => void answerTo(request, response)).listen(
    0,
    '127.0.0.1',
  );
  async function answerTo(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const isZipped = request.headers['content-encoding'] === 'gzip';
    const body = isZipped ? gunzipSync(Buffer.concat(chunks)) : Buffer.concat(chunks);
    const answer = (json) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(json));
    };
    const isJson = request.headers['content-type']?.includes('json');
    const answerEmpty = () => (isJson ? answer({}) : response.end());
    if (request.url.endsWith('/traces')) {
      const found = await (isJson ? spansOfJson(body) : spansOfProtobuf(body));
      for (const one of found) spans.push({ origin: one.origin, span: one.read().span });
      answerEmpty();
    } else if (request.url.endsWith('/logs')) {
      const found = await (isJson ? logsOfJson(body) : logsOfProtobuf(body));
      for (const one of found) {
        const record = one.read();
        if (record && readLogPart(record)) logs.push({ origin: one.origin, record });
      }
      answerEmpty();
    } else if (!answerAsProvider(request, response, body)) answer({});
  }
  await once(server, 'listening');
  const urlOf = (/** @type {import('node:net').Server} */ listening) =>
    `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (listening.address()).port}`;
  const url = urlOf(server);
  const grpc = createTcpServer({ pauseOnConnect: true }, (socket) => door.accept(socket));
  const door = new GrpcDoor(server, { add: () => true, begin: () => () => {} }, 5000);
  await once(grpc.listen(0, '127.0.0.1'), 'listening');
  const child = spawn(command, args, {
    env: {
      ...process.env,
      ANTHROPIC_API_KEY: 'none',
      ANTHROPIC_BASE_URL: url,
      OPENAI_API_KEY: 'none',
      OPENAI_BASE_URL: `${url}/v1`,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
      RECORDER_URL: url,
      RECORDER_GRPC: urlOf(grpc),
    },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  server.close();
  grpc.close();
  await door.close();
  if (code !== 0 || spans.length === 0) throw new Error(`exit ${code}, ${spans.length} spans`);
  return logs.length > 0 ? { spans, logs } : { spans };
}

const file = `test/fixtures/otlp/${name}.json`;
/** Shortens long texts, and removes attributes that describe the machine. */
function shortened(_key, value) {
  if (typeof value === 'string' && value.length > 4000) return `${value.slice(0, 200)}…`;
  const isOfMachine = (item) => /^(host|process|os)\./.test(item?.key);
  return Array.isArray(value) ? value.filter((item) => !isOfMachine(item)) : value;
}
const { spans, logs: read } = command
  ? JSON.parse(JSON.stringify(await recorded(), shortened))
  : JSON.parse(readFileSync(file, 'utf8'), shortened);
const told = read?.map(({ record }) => record && readLogPart(record)).filter((one) => one !== null);
const logs =
  told?.length > 0 ? read.filter(({ record }) => record && readLogPart(record)) : undefined;
const calls = spans.map(({ origin, span }) => {
  const { call, documents } = toCall(span, origin, 'acme/demo');
  const { op_name, display_name, thread_id, turn_id, exception } = call;
  const { inputs, output, summary, attributes } = Object.fromEntries(
    Object.entries(documents).map(([part, text]) => [part, JSON.parse(text)]),
  );
  const names = Object.keys(attributes).filter((key) => key !== 'resource' && key !== 'scope');
  const is_turn = turn_id !== null;
  return { op_name, display_name, thread_id, is_turn, exception, inputs, output, summary, names };
});
writeFileSync(file, `${JSON.stringify({ calls, spans, told: logs && told, logs }, null, 1)}\n`);
console.log(`${spans.length} spans, ${logs?.length ?? 0} log records`);
