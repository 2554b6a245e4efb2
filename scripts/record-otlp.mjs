// Records what instrumentations export, as the fixtures of src/doors/otel/conventions.spec.ts. Starts a receiver of OTLP and a model
// server that always answers the same, and runs a program against both:
//   node scripts/record-otlp.mjs <name> <command> [<argument> …]      writes test/fixtures/otlp/<name>.json
// The file holds the spans and the calls that they become, and log records that carry messages and what these tell of the calls:
// read those before you commit them. With a name alone only what they become is made again. The programs are in test/fixtures/otlp/programs/; each says what to install.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { pricedName } from '../dist/src/tracing/costs/builtin-prices.js';
import { toldBy } from '../dist/src/doors/otel/log-messages.js';
import { logsOfJson, logsOfProtobuf } from '../dist/src/doors/otel/otlp-logs.js';
import { spansOfJson, spansOfProtobuf } from '../dist/src/doors/otel/otlp.js';
import { toCall } from '../dist/src/doors/otel/span-call.js';

const [name, command, ...args] = process.argv.slice(2);

const usage = {
  prompt_tokens: 20,
  completion_tokens: 8,
  total_tokens: 28,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1767225600,
  model: 'gpt-4o-mini-2024-07-18',
  usage,
};
const message = { role: 'assistant', content: 'It is sunny.' };
const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Rome"}' },
};

/** Calls the tool when there is one that was not called yet. */
function chatCompletion({ tools, messages }) {
  const isCall = tools && !messages.some(({ role }) => role === 'tool');
  const choice = isCall
    ? {
        index: 0,
        finish_reason: 'tool_calls',
        message: { role: 'assistant', content: null, tool_calls: [call] },
      }
    : { index: 0, finish_reason: 'stop', message };
  return { ...completion, choices: [choice] };
}
const embeddings = () => ({
  object: 'list',
  model: 'text-embedding-3-small',
  data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
  usage: { prompt_tokens: 5, total_tokens: 5 },
});

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
    if (request.url.endsWith('/traces')) {
      const found = await (isJson ? spansOfJson(body) : spansOfProtobuf(body));
      for (const one of found) spans.push({ origin: one.origin, span: one.read().span });
      answer({});
    } else if (request.url.endsWith('/logs')) {
      const found = await (isJson ? logsOfJson(body) : logsOfProtobuf(body));
      for (const one of found) logs.push({ origin: one.origin, record: one.read() });
      answer({});
    } else if (request.url.endsWith('/chat/completions'))
      answer(chatCompletion(JSON.parse(body.toString())));
    else if (request.url.endsWith('/embeddings')) answer(embeddings());
    else answer({});
  }
  await once(server, 'listening');
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  const child = spawn(command, args, {
    env: {
      ...process.env,
      OPENAI_API_KEY: 'none',
      OPENAI_BASE_URL: `${url}/v1`,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
      RECORDER_URL: url,
    },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  server.close();
  if (code !== 0 || spans.length === 0) throw new Error(`exit ${code}, ${spans.length} spans`);
  return logs.length > 0 ? { spans, logs } : { spans };
}

const file = `test/fixtures/otlp/${name}.json`;
/** What is long says nothing, and what is said of the machine is not ours to keep. */
function shortened(_key, value) {
  if (typeof value === 'string' && value.length > 4000) return `${value.slice(0, 200)}…`;
  const isOfMachine = (item) => /^(host|process|os)\./.test(item?.key);
  return Array.isArray(value) ? value.filter((item) => !isOfMachine(item)) : value;
}
const { spans, logs } = command
  ? JSON.parse(JSON.stringify(await recorded(), shortened))
  : JSON.parse(readFileSync(file, 'utf8'), shortened);
const calls = spans.map(({ origin, span }) => {
  const { call, documents } = toCall(span, origin, 'acme/demo', pricedName);
  const { op_name, display_name, thread_id, turn_id, exception } = call;
  const { inputs, output, summary, attributes } = Object.fromEntries(
    Object.entries(documents).map(([part, text]) => [part, JSON.parse(text)]),
  );
  const names = Object.keys(attributes).filter((key) => key !== 'resource' && key !== 'scope');
  const is_turn = turn_id !== null;
  return { op_name, display_name, thread_id, is_turn, exception, inputs, output, summary, names };
});
const told = logs?.map(({ record }) => record && toldBy(record));
writeFileSync(file, `${JSON.stringify({ calls, spans, told, logs }, null, 1)}\n`);
console.log(`${spans.length} spans, ${logs?.length ?? 0} log records`);
