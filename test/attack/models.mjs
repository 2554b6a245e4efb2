// A provider of models. The first message of a request names the bad answer that the provider gives.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS = { 'content-type': 'text/event-stream' };
const MIB = 1024 * 1024;
/** The key that the service sends to the provider. */
export const PROVIDER_KEY = 'sk-key-of-the-operator-0123456789';

const choice = (content) =>
  `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** Writes pieces as long as the client reads. */
async function write(answer, pieces) {
  await pipeline(Readable.from(pieces), answer, { end: false });
  answer.end('data: [DONE]\n\n');
}

function* repeated(piece, count) {
  for (let i = 0; i < count; i++) yield piece;
}

/** Yields `count` events of a stream. Each has 4,000 choices, which `item` makes. */
function* chunks(count, item) {
  for (let i = 0; i < count; i++) {
    const items = Array.from({ length: 4000 }, (_, k) => item(i * 4000 + k + 1));
    yield `data: {"choices":[${items.join(',')}]}\n\n`;
  }
}

/** Whole answers, as text. */
export const WHOLE = {
  levels: () => `{"a":${'['.repeat(8 * MIB)}${']'.repeat(8 * MIB)}}`,
  'open levels': () => '['.repeat(30 * MIB),
  objects: () => `{"choices":[${'{},'.repeat(10 * MIB)}{}]}`,
  numbers: () => `{"choices":[${'1,'.repeat(15 * MIB)}1]}`,
  keys: () => `{${Array.from({ length: 2e6 }, (_, i) => `"k${i}":1`).join(',')}}`,
  'long line': () => `"${'x'.repeat(40 * MIB)}`,
  'constant id': () =>
    '{"id":"chatcmpl-constant","model":"m","choices":[],"usage":{"prompt_tokens":1,"total_tokens":3}}',
  'no JSON': () => 'null,"weave_call_id":"of another"',
};

/** Parts of tool calls of one stream that share indexes and ids, or lack them. */
export const ODD_TOOL_CALLS = {
  'tool calls at one index': [
    { index: 0, id: 'a', function: { name: 'f', arguments: '{' } },
    { index: 0, id: 'b', function: { name: 'g', arguments: '{}' } },
    { index: 0, function: { arguments: '}' } },
  ],
  'tool calls without index': [
    { id: 'a', function: { name: 'f', arguments: '{' } },
    { function: { arguments: '}' } },
    { id: 'b', function: { name: 'g' } },
  ],
  'tool calls of one id': [
    { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
    { index: 1, id: 'a', function: { name: 'f', arguments: '{}' } },
    { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
  ],
  'tool calls without anything': [{}, { index: null, id: null, function: null }, null, 1, [], ''],
  'tool calls of odd indexes': [-1, 0.5, 1e9, '0', 2 ** 53, null, {}].map((index) => ({
    index,
    id: '',
    function: { name: '', arguments: {} },
  })),
};

/** Streamed answers, in pieces. */
export const STREAMS = {
  ...Object.fromEntries(
    Object.entries(ODD_TOOL_CALLS).map(([name, calls]) => [
      name,
      () =>
        calls.map(
          (call) =>
            `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`,
        ),
    ]),
  ),
  'open levels': () => [`data: ${'['.repeat(30 * MIB)}\n\n`],
  'empty events': () => repeated('data:\n\n'.repeat(10_000), 150),
  'empty lines': () => repeated('\n\n'.repeat(32_000), 150),
  'broken events': () => repeated('data: {\n\n'.repeat(8000), 150),
  'a line without end': () => repeated('x'.repeat(65_536), 16_384),
  'an event without end': () => repeated(`data: ${'x'.repeat(1000)}\n`, 15_000),
  'pieces of a byte': () => repeated('x', 50_000),
  '400,000 choices': () => chunks(100, (i) => `{"index":-${i},"delta":{}}`),
  '400,000 tool calls': () =>
    chunks(100, (i) => `{"index":${i % 1000},"delta":{"tool_calls":[{"index":0.${i}}]}}`),
  'no UTF-8': () => repeated(Buffer.alloc(65_536, 0xff), 200),
};

/** Answers that are written to the socket without an HTTP library. */
const RAW = {
  upgrade: 'HTTP/1.1 101 x\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  'long head': `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}\r\n`,
  'bad head': 'HTTP/1.1 200 OK\r\nx: \x01\r\n\r\n',
  'two answers': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n',
};
export const RAW_NAMES = Object.keys(RAW);

const handlers = {
  async hang(_, answer) {
    answer.writeHead(200, EVENTS).write(choice('a'));
  },
  async echo(asked, answer, { stream }) {
    const { authorization } = asked.headers;
    const event = choice(authorization);
    if (stream) {
      answer.writeHead(200, EVENTS).write(event.slice(0, 80));
      setTimeout(() => answer.end(`${event.slice(80)}data: [DONE]\n\n`), 20);
    } else answer.writeHead(200, JSON_TYPE).end(JSON.stringify({ authorization }));
  },
};

async function handle(asked, answer) {
  let text = '';
  for await (const piece of asked) text += piece;
  const body = JSON.parse(text);
  const mode = body.messages?.[0]?.content;
  answer.on('error', () => {});
  if (Object.hasOwn(handlers, mode)) await handlers[mode](asked, answer, body);
  else if (Object.hasOwn(RAW, mode)) asked.socket.write(RAW[mode]);
  else if (body.stream && Object.hasOwn(STREAMS, mode))
    await write(answer.writeHead(200, EVENTS), STREAMS[mode]());
  else if (Object.hasOwn(WHOLE, mode)) answer.writeHead(200, JSON_TYPE).end(WHOLE[mode]());
  else answer.writeHead(200, JSON_TYPE).end('{"model":"m","choices":[]}');
}

export class HostileModels {
  server = createServer((asked, answer) => void handle(asked, answer).catch(() => {}));

  async open() {
    this.server.on('clientError', () => {});
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  /** Settings of the service for this provider. */
  get settings() {
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    const base_url = `http://127.0.0.1:${port}/v1`;
    const waits = { first_byte_seconds: 5, idle_seconds: 5 };
    return {
      MODELS_KEY: PROVIDER_KEY,
      GATEWAY_PROVIDERS: JSON.stringify([
        { name: 'hostile', base_url, api_key_env: 'MODELS_KEY', models: ['m'], ...waits },
      ]),
    };
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
