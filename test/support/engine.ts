import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the engine got. */
export interface Asked {
  path: string;
  headers: IncomingMessage['headers'];
  text: string;
  body: any;
}

type Handle = (asked: Asked, response: ServerResponse) => unknown;

export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

/** A number that JavaScript cannot hold, as engines spell some. */
export const LONG_LOGPROB = '-0.12345678901234567890';

const WORDS = ['Hel', 'lo', ' wor', 'ld'];

/** The logprobs of a token, as the engine spells them. */
const logprobOf = (token: string) =>
  `{"token":${JSON.stringify(token)},"logprob":${LONG_LOGPROB},"bytes":[1,2], "top_logprobs":[]}`;

const toolCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: '{"q":1}' },
};

/** The answer to a request that wants no stream. */
function whole({ body, path }: Asked): string {
  const isChat = path.endsWith('chat/completions');
  const hasTools = Array.isArray(body.tools);
  const said = isChat
    ? `"message":${JSON.stringify(
        hasTools
          ? { role: 'assistant', content: null, tool_calls: [toolCall] }
          : { role: 'assistant', content: 'Hello world' },
      )}`
    : '"text":"Hello world"';
  const logprobs = body.logprobs ? `{"content":[${WORDS.map(logprobOf).join(',')}]}` : 'null';
  const ids = body.return_token_ids ? ',"token_ids":[1,2,3,4]' : '';
  const prompt = body.return_token_ids ? ',"prompt_token_ids":[7,8,9]' : '';
  return `{"id":"cmpl-1","object":"${isChat ? 'chat.completion' : 'text_completion'}","created":1,"model":"${body.model}"${prompt},"choices":[{"index":0,${said},"logprobs":${logprobs}${ids},"finish_reason":"${hasTools ? 'tool_calls' : 'stop'}"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`;
}

/** The events of a stream. */
export function eventsOf({ body, path }: Pick<Asked, 'body' | 'path'>): string[] {
  const isChat = path.endsWith('chat/completions');
  const head = `{"id":"cmpl-1","object":"chat.completion.chunk","created":1,"model":"${body.model}"`;
  const chunk = (choice: string, more = '') => `data: ${head}${more},"choices":[${choice}]}\n\n`;
  const events: string[] = [];
  if (isChat) {
    const prompt = body.return_token_ids ? ',"prompt_token_ids":[7,8,9]' : '';
    events.push(
      chunk('{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}', prompt),
    );
  }
  if (Array.isArray(body.tools)) {
    const { id, function: called } = toolCall;
    const delta = (call: object) => JSON.stringify({ tool_calls: [{ index: 0, ...call }] });
    events.push(
      chunk(
        `{"index":0,"delta":${delta({ id, type: 'function', function: { name: called.name, arguments: '' } })}}`,
      ),
    );
    for (const piece of ['{"q"', ':1}'])
      events.push(chunk(`{"index":0,"delta":${delta({ function: { arguments: piece } })}}`));
  } else
    for (const [i, word] of WORDS.entries()) {
      const said = isChat
        ? `"delta":{"content":${JSON.stringify(word)}}`
        : `"text":${JSON.stringify(word)}`;
      const logprobs = body.logprobs ? `,"logprobs":{"content":[${logprobOf(word)}]}` : '';
      const ids = body.return_token_ids ? `,"token_ids":[${i + 1}]` : '';
      events.push(chunk(`{"index":0,${said}${logprobs}${ids},"finish_reason":null}`));
    }
  events.push(chunk(`{"index":0,${isChat ? '"delta":{}' : '"text":""'},"finish_reason":"stop"}`));
  if (body.stream_options?.include_usage)
    events.push(chunk('', ',"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}'));
  events.push('data: [DONE]\n\n');
  return events;
}

const answer: Handle = (asked, response) => {
  if (!asked.body.stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(whole(asked));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const event of eventsOf(asked)) response.write(event);
  return response.end();
};

/** A server that speaks as vLLM, SGLang and OpenAI do, over HTTP. What it answers next may be replaced. */
export async function startEngine() {
  const asked: Asked[] = [];
  const instead: Handle[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const got = {
      path: request.url!,
      headers: request.headers,
      text,
      body: JSON.parse(text || '{}'),
    };
    asked.push(got);
    await (instead.shift() ?? answer)(got, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    /** The newest request. */
    get last(): Asked {
      return asked.at(-1)!;
    },
    /** Handles the next request in the place of the engine. */
    next: (handle: Handle) => void instead.push(handle),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
