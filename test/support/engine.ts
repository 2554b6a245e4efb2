import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the engine received. */
export interface Asked {
  path: string;
  headers: IncomingMessage['headers'];
  text: string;
  body: any;
}

type Handle = (asked: Asked, response: ServerResponse) => unknown;

export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

/** A number that JavaScript cannot hold. Some engines send such numbers. */
export const LONG_LOGPROB = '-0.12345678901234567890';

const WORDS = ['Hel', 'lo', ' wor', 'ld'];

const logprobOf = (token: string) =>
  `{"token":${JSON.stringify(token)},"logprob":${LONG_LOGPROB},"bytes":[1,2], "top_logprobs":[]}`;

const toolCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: '{"q":1}' },
};

/** The answer to a request without streaming. */
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

/** An OpenAI response, with a number that JavaScript cannot hold. */
const responseText = (model: string, status: string, output: string) =>
  `{"id":"resp_1","object":"response","created_at":1,"status":"${status}","error":null,"model":"${model}","output":[${output}],"temperature":1.0,"usage":${
    status === 'completed'
      ? '{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":7}'
      : 'null'
  },"seed":12345678901234567890}`;

const itemText = (status: string, content: string) =>
  `{"id":"msg_1","type":"message","status":"${status}","role":"assistant","content":[${content}]}`;

const DONE_ITEM = itemText(
  'completed',
  '{"type":"output_text","text":"Hello world","annotations":[]}',
);

/** The events of a streamed response, at least one of each type. */
export function responseEvents({ body: { model } }: Pick<Asked, 'body'>): string[] {
  let number = 0;
  const event = (type: string, members: string) =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${number++},${members}}\n\n`;
  const at = '"output_index":0,"item_id":"msg_1","content_index":0';
  return [
    event('response.created', `"response":${responseText(model, 'in_progress', '')}`),
    event('response.output_item.added', `"output_index":0,"item":${itemText('in_progress', '')}`),
    ...WORDS.map((word) =>
      event('response.output_text.delta', `${at},"delta":${JSON.stringify(word)},"logprobs":[]`),
    ),
    event('response.output_item.done', `"output_index":0,"item":${DONE_ITEM}`),
    event('response.completed', `"response":${responseText(model, 'completed', DONE_ITEM)}`),
  ];
}

const answer: Handle = (asked, response) => {
  const isResponse = asked.path.endsWith('/responses');
  if (!asked.body.stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(
      isResponse ? responseText(asked.body.model, 'completed', DONE_ITEM) : whole(asked),
    );
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const event of isResponse ? responseEvents(asked) : eventsOf(asked)) response.write(event);
  return response.end();
};

/** Starts a server with the HTTP API of vLLM, SGLang and OpenAI. A test can replace its next answers. */
export async function startEngine() {
  const asked: Asked[] = [];
  const instead: Handle[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
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
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    get last(): Asked {
      return asked.at(-1)!;
    },
    /** Handles the next request instead of the engine. */
    next: (handle: Handle) => void instead.push(handle),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
