// Records the data that a client sends for requests to models, as fixtures of test/tracing/usage-clients.e2e-spec.ts.
// Starts a model server that always gives the same answers, and a proxy in front of a running service
// (WIRE_DIALECT=weave), and runs a program. The command writes test/fixtures/usage/<name>.json:
//
//   SKEIN_URL=http://127.0.0.1:3000 SKEIN_API_KEY=skn_… node scripts/record-usage.mjs <name> <command> [<argument> …]
//
// The programs are in test/fixtures/usage/programs/; each lists the packages to install. Read the recorded data before
// you commit it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const [name, command, ...args] = process.argv.slice(2);
const { SKEIN_URL = 'http://127.0.0.1:3000', SKEIN_API_KEY: key = '' } = process.env;
const CALLS = /\/calls\/complete|\/call\/upsert_batch|\/v1\/traces|\/ingestion/;

/** Answers with usage as the providers document it. The test computes the prices. */
/** @type {[path: string, answer: (n: number) => object][]} */
const ANSWERS = [
  [
    '/messages',
    (n) => ({
      id: `msg_${n}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content: [{ type: 'text', text: 'It is sunny.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 100,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 900,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 10,
        service_tier: 'standard',
      },
    }),
  ],
  [
    '/chat/completions',
    (n) => ({
      id: `chatcmpl-${n}`,
      object: 'chat.completion',
      created: 1767225600,
      model: 'gpt-4o-mini-2024-07-18',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'It is sunny.', refusal: null },
        },
      ],
      usage: {
        prompt_tokens: 200,
        completion_tokens: 20,
        total_tokens: 220,
        prompt_tokens_details: { cached_tokens: 128, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
      },
    }),
  ],
  [
    '/responses',
    (n) => ({
      id: `resp_${n}`,
      object: 'response',
      created_at: 1767225600,
      status: 'completed',
      model: 'gpt-4o-mini-2024-07-18',
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      output: [
        {
          type: 'message',
          id: `item_${n}`,
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'It is sunny.', annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 300,
        input_tokens_details: { cached_tokens: 256 },
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 8 },
        total_tokens: 330,
      },
    }),
  ],
];

const requests = [];
let answered = 0;

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

async function listening(answer) {
  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { server, url: `http://127.0.0.1:${port}` };
}

const models = await listening(async (request, response) => {
  await bodyOf(request);
  const found = ANSWERS.find(([path]) => request.url.endsWith(path));
  response.statusCode = found ? 200 : 404;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(found ? found[1](++answered) : {}));
});

/** Members that describe the machine. They are not recorded. */
const OF_MACHINE = new Set(['sys_version', 'os_name', 'os_version', 'os_release']);
const HOPS = new Set([
  'host',
  'connection',
  'content-length',
  'content-encoding',
  'transfer-encoding',
]);

const service = await listening(async (request, response) => {
  const body = await bodyOf(request);
  const type = request.headers['content-type'] ?? '';
  if (CALLS.test(request.url))
    requests.push({
      path: request.url,
      type,
      ...(type.includes('json')
        ? {
            body: JSON.parse(body.toString(), (member, value) =>
              OF_MACHINE.has(member) ? undefined : value,
            ),
          }
        : { base64: body.toString('base64') }),
    });
  const headers = Object.entries(request.headers).filter(([header]) => !HOPS.has(header));
  const answer = await fetch(SKEIN_URL + request.url, {
    method: request.method,
    headers: Object.fromEntries(headers),
    ...(request.method !== 'GET' && { body }),
  });
  response.statusCode = answer.status;
  response.setHeader('content-type', answer.headers.get('content-type') ?? 'application/json');
  response.end(Buffer.from(await answer.arrayBuffer()));
});

const home = mkdtempSync(join(tmpdir(), 'skein-record-'));
const project = `acme/${name}`;
const child = spawn(command, args, {
  env: {
    PATH: process.env.PATH,
    HOME: home,
    PROJECT: project,
    SKEIN_URL: service.url,
    SKEIN_API_KEY: key,
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: models.url,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: `${models.url}/v1`,
    WF_TRACE_SERVER_URL: service.url,
    WANDB_BASE_URL: service.url,
    WANDB_API_KEY: key,
    WEAVE_USE_SERVER_CACHE: 'false',
    LANGFUSE_BASE_URL: service.url,
    LANGFUSE_BASEURL: service.url,
    LANGFUSE_PUBLIC_KEY: project,
    LANGFUSE_SECRET_KEY: key,
  },
  stdio: 'inherit',
});
const [code] = await once(child, 'exit');
for (const { server } of [models, service]) server.close();
rmSync(home, { recursive: true, force: true });
if (code !== 0 || requests.length === 0)
  throw new Error(`exit ${code}, ${requests.length} requests`);
writeFileSync(`test/fixtures/usage/${name}.json`, `${JSON.stringify({ requests }, null, 1)}\n`);
console.log(`${requests.length} requests`);
