// Answers requests as OpenAI, Anthropic and Google do. Answers differ only in their ids, as those of providers do.
// Calls the tool `weather` once when a request offers it. `node scripts/fake-provider.mjs` runs it as a server of its
// own, and prints the address.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

/** Usage as OpenAI counts it: the prompt's tokens include cached ones, and the answer's tokens include reasoning. */
const usage = {
  prompt_tokens: 20,
  completion_tokens: 8,
  total_tokens: 28,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
/**
 * Usage as Anthropic counts it, with the same tokens: those read from and written to the cache are counted
 * separately.
 */
const anthropicUsage = {
  input_tokens: 14,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 4,
  output_tokens: 8,
};
const TEXT = 'It is sunny.';
const ARGUMENTS = '{"city":"Rome"}';

/** Returns true when the tool `weather` is offered. Tools of coding agents are not called. */
const offersWeather = (tools) =>
  tools?.some((tool) => (tool.function ?? tool).name === 'weather') ?? false;

/** Makes a chat completion. Calls the tool if it is offered and was not called yet. */
function chatCompletion({ tools, functions, messages, stream, stream_options }) {
  const isCall =
    offersWeather(tools ?? functions) &&
    !messages.some(({ role }) => role === 'tool' || role === 'function');
  const called = { name: 'weather', arguments: ARGUMENTS };
  const message = !isCall
    ? { role: 'assistant', content: TEXT }
    : functions
      ? { role: 'assistant', content: null, function_call: called }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: called }],
        };
  const finish_reason = isCall ? (functions ? 'function_call' : 'tool_calls') : 'stop';
  const made = {
    id: `chatcmpl-${randomUUID()}`,
    created: 1767225600,
    model: 'gpt-4o-mini-2024-07-18',
  };
  if (!stream)
    return {
      ...made,
      object: 'chat.completion',
      usage,
      choices: [{ index: 0, finish_reason, message }],
    };
  const { tool_calls, ...rest } = message;
  const delta = {
    ...rest,
    ...(tool_calls && { tool_calls: tool_calls.map((call, index) => ({ index, ...call })) }),
  };
  const chunk = { ...made, object: 'chat.completion.chunk' };
  return [
    { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
    ...(stream_options?.include_usage ? [{ ...chunk, choices: [], usage }] : []),
    '[DONE]',
  ].map((data) => ({ data }));
}

/** Makes an answer of the Responses API. */
function response({ tools, input, stream }) {
  const isCall =
    offersWeather(tools) &&
    !(Array.isArray(input) && input.some(({ type }) => type === 'function_call_output'));
  const item = isCall
    ? {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'weather',
        arguments: ARGUMENTS,
        status: 'completed',
      }
    : {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: TEXT, annotations: [] }],
      };
  const made = {
    id: `resp_${randomUUID()}`,
    object: 'response',
    created_at: 1767225600,
    status: 'completed',
    model: 'gpt-4o-mini-2024-07-18',
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    output: [item],
    usage: {
      input_tokens: usage.prompt_tokens,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: usage.completion_tokens,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: usage.total_tokens,
    },
  };
  if (!stream) return made;
  const begun = {
    ...item,
    status: 'in_progress',
    ...(isCall ? { arguments: '' } : { content: [] }),
  };
  const at = { output_index: 0, item_id: item.id };
  const parts = isCall
    ? [
        { type: 'response.function_call_arguments.delta', ...at, delta: ARGUMENTS },
        { type: 'response.function_call_arguments.done', ...at, arguments: ARGUMENTS },
      ]
    : [
        {
          type: 'response.content_part.added',
          ...at,
          content_index: 0,
          part: { type: 'output_text', text: '', annotations: [] },
        },
        { type: 'response.output_text.delta', ...at, content_index: 0, delta: TEXT },
        { type: 'response.output_text.done', ...at, content_index: 0, text: TEXT },
      ];
  return [
    {
      type: 'response.created',
      response: { ...made, status: 'in_progress', output: [], usage: null },
    },
    { type: 'response.output_item.added', output_index: 0, item: begun },
    ...parts,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: made },
  ].map((data, sequence_number) => ({ event: data.type, data: { ...data, sequence_number } }));
}

/** Makes an answer of Anthropic's Messages API. */
function message({ tools, messages, stream, model }) {
  const offered = tools?.find(({ name }) => name === 'weather' || name === 'Bash');
  const wasCalled = messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'tool_result'),
  );
  const input =
    offered?.name === 'Bash' ? { command: 'echo sunny', description: 'Say it' } : { city: 'Rome' };
  const isCall = offered && !wasCalled;
  const part = isCall
    ? { type: 'tool_use', id: 'toolu_1', name: offered.name, input }
    : { type: 'text', text: TEXT };
  const stop_reason = isCall ? 'tool_use' : 'end_turn';
  const made = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [part],
    stop_reason,
    stop_sequence: null,
    usage: anthropicUsage,
  };
  if (!stream) return made;
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
    : { type: 'text_delta', text: TEXT };
  return [
    {
      type: 'message_start',
      message: {
        ...made,
        content: [],
        stop_reason: null,
        usage: { ...anthropicUsage, output_tokens: 1 },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isCall ? { ...part, input: {} } : { type: 'text', text: '' },
    },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 8 },
    },
    { type: 'message_stop' },
  ].map((data) => ({ event: data.type, data }));
}

const embeddings = () => ({
  object: 'list',
  model: 'text-embedding-3-small',
  data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
  usage: { prompt_tokens: 5, total_tokens: 5 },
});

/** Usage as Google counts it: thoughts are counted besides the answer, 20 + 8 + 3 = 31. */
const googleUsage = {
  promptTokenCount: 20,
  candidatesTokenCount: 8,
  thoughtsTokenCount: 3,
  totalTokenCount: 31,
  cachedContentTokenCount: 4,
};

/** Makes an answer of Gemini's `generateContent`, or of `streamGenerateContent` as one event. */
function generateContent({ tools, contents }, isStream) {
  const declared = tools?.flatMap(({ functionDeclarations }) => functionDeclarations ?? []) ?? [];
  const wasCalled = contents.some(({ parts }) => parts.some((part) => part.functionResponse));
  const tool = declared.find(({ name }) => name === 'weather');
  const part =
    tool && !wasCalled
      ? { functionCall: { name: tool.name, args: { city: 'Rome' } } }
      : { text: TEXT };
  const made = {
    candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [part] } }],
    usageMetadata: googleUsage,
    modelVersion: 'gemini-2.5-flash',
    responseId: randomUUID(),
  };
  return isStream ? [{ data: made }] : made;
}

/** @type {[path: RegExp, answer: (body: any) => object][]} */
const ANSWERS = [
  [/:generateContent(\?.*)?$/, (body) => generateContent(body, false)],
  [/:streamGenerateContent(\?.*)?$/, (body) => generateContent(body, true)],
  [/\/chat\/completions$/, chatCompletion],
  [/\/embeddings$/, embeddings],
  [/\/responses$/, response],
  [/\/messages(\?.*)?$/, message],
  [/\/messages\/count_tokens(\?.*)?$/, () => ({ input_tokens: 20 })],
];

/**
 * Answers a request for a model. Returns false for any other request.
 *
 * @param {{ url?: string }} request
 */
export function answerAsProvider({ url = '' }, response, body) {
  const answer = ANSWERS.find(([path]) => path.test(url))?.[1];
  if (!answer) return false;
  const made = answer(JSON.parse(body.toString()));
  response.setHeader(
    'content-type',
    Array.isArray(made) ? 'text/event-stream' : 'application/json',
  );
  if (!Array.isArray(made)) response.end(JSON.stringify(made));
  else {
    for (const { event, data } of made)
      response.write(
        `${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
      );
    response.end();
  }
  return true;
}

if (process.argv[1] === import.meta.filename) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      if (!answerAsProvider(request, response, Buffer.concat(chunks))) response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    console.log(`a provider listens on http://127.0.0.1:${port}`);
  });
}
