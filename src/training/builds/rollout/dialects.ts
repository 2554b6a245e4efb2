import { isObject, textOrNull as text } from '../../../platform/json/json-object.js';
import { parsedText, type HistoryMessage, readHistoryMessage } from './history-messages.js';
import {
  type Choice,
  type RecordedConversation,
  readLogprobs,
  type RecordedCall,
  type RecordedJson,
} from './recorded-call.js';

/*
 * Converts the messages of dialects with their own format into OpenAI's format. What an instrumentation did not
 * record stays lost: the text of sampled arguments, and `strict` of a tool.
 */

const list = (value: unknown): RecordedJson[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
const asText = (value: unknown) =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** Prints a message in the form that is compared: members in this order, without absent ones. */
const toHistoryMessage = (message: RecordedJson): HistoryMessage =>
  readHistoryMessage(message, JSON.stringify(message));

const toolCall = (id: unknown, name: unknown, args: unknown) => ({
  id: text(id) ?? '',
  type: 'function',
  function: { name: text(name) ?? '', arguments: asText(args ?? {}) },
});

interface MessageParts {
  texts: string[];
  calls: object[];
  results: RecordedJson[];
}

function toMessages(
  role: string,
  { texts, calls, results }: MessageParts,
  name: unknown,
): RecordedJson[] {
  if (results.length > 0) return results;
  const content = texts.length > 0 || calls.length === 0 ? texts.join('') : null;
  return [
    {
      role,
      ...(typeof name === 'string' && { name }),
      content,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ];
}

// OpenTelemetry's `gen_ai.*`

function genAiParts(parts: RecordedJson[]): MessageParts {
  const found: MessageParts = { texts: [], calls: [], results: [] };
  for (const part of parts) {
    if (part['type'] === 'tool_call')
      found.calls.push(toolCall(part['id'], part['name'], part['arguments']));
    else if (part['type'] === 'tool_call_response')
      found.results.push({
        role: 'tool',
        tool_call_id: text(part['id']) ?? '',
        content: asText(part['response'] ?? part['result'] ?? part['content']),
      });
    else if (part['type'] === 'text') found.texts.push(text(part['content'] ?? part['text']) ?? '');
  }
  return found;
}

/** Converts a message. Older instrumentations write `content` and flat tool calls instead of parts. */
function genAiMessage(message: RecordedJson): RecordedJson[] {
  const { role, name, parts, content, tool_calls: calls } = message;
  if (Array.isArray(parts)) return toMessages(text(role) ?? '', genAiParts(list(parts)), name);
  const flat = list(calls).map((call) => {
    const called = isObject(call['function']) ? call['function'] : call;
    return toolCall(call['id'], called['name'], called['arguments']);
  });
  return [
    {
      role: text(role) ?? '',
      ...(typeof name === 'string' && { name }),
      content: content ?? null,
      ...(flat.length > 0 && { tool_calls: flat }),
      ...(typeof message['tool_call_id'] === 'string' && {
        tool_call_id: message['tool_call_id'],
      }),
    },
  ];
}

/** Reads calls with OpenTelemetry's `gen_ai` conventions, as OpenLLMetry and others write them. */
export function readGenAi(
  { inputs, output }: RecordedCall,
  messages: RecordedJson[],
): RecordedConversation | null {
  const answers = output['messages'];
  if (!Array.isArray(answers) || !answers.every(isObject)) return null;
  const instructions = list(inputs['system_instructions']).map(
    (part) => text(part['content'] ?? part['text']) ?? '',
  );
  const system =
    instructions.length > 0 ? [{ role: 'system', content: instructions.join('\n') }] : [];
  const choices = answers.map((message, index) => {
    const [answer] = genAiMessage({ ...message, role: 'assistant' });
    return toChoice(index, answer!, text(message['finish_reason']), null);
  });
  const tools = list(inputs['tools']).map((tool) => {
    const called = isObject(tool['function']) ? tool['function'] : tool;
    return functionTool(called, called['parameters'] ?? called['inputSchema']);
  });
  return {
    dialect: 'gen_ai',
    messages: [...system, ...messages.flatMap(genAiMessage)].map(toHistoryMessage),
    tools: tools.length > 0 ? JSON.stringify(tools) : null,
    choices,
    promptTokenIds: null,
    isReserialised: choices.some(({ turn }) => turn.toolCalls.length > 0),
  };
}

const functionTool = (tool: RecordedJson, parameters: unknown) => ({
  type: 'function',
  function: {
    name: text(tool['name']) ?? '',
    ...(typeof tool['description'] === 'string' && { description: tool['description'] }),
    ...(isObject(parameters) && { parameters }),
  },
});

const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter'];

/** Maps a reason to OpenAI's values. Trainers accept no others. */
function toFinishReason(reason: string | null): string | null {
  const word = reason?.replace('-', '_').replace(/^tool_call$/, 'tool_calls') ?? null;
  return word === null || FINISH_REASONS.includes(word) ? word : 'stop';
}

function toChoice(
  index: number,
  message: RecordedJson,
  reason: string | null,
  logprobs: RecordedJson[] | null,
): Choice {
  const finishReason = toFinishReason(reason);
  const answered = toHistoryMessage(message);
  const content = logprobs && { content: logprobs };
  return {
    text: `{"finish_reason":${JSON.stringify(finishReason ?? 'stop')},"index":${index},"message":${answered.text},"logprobs":${JSON.stringify(content)}}`,
    turn: answered,
    finishReason,
    logprobs: readLogprobs(logprobs),
    tokenIds: null,
    content: answered.toolCalls.length > 0 ? null : text(message['content']),
  };
}

// Vercel's `ai.*`

function vercelParts(content: RecordedJson[]): MessageParts {
  const found: MessageParts = { texts: [], calls: [], results: [] };
  for (const part of content) {
    const { type, toolCallId, toolName } = part;
    if (type === 'tool-call')
      found.calls.push(toolCall(toolCallId, toolName, part['input'] ?? part['args']));
    else if (type === 'tool-result')
      found.results.push({
        role: 'tool',
        tool_call_id: text(toolCallId) ?? '',
        content: asText(resultContent(part['output'] ?? part['result'])),
      });
    else if (type === 'text') found.texts.push(text(part['text']) ?? '');
  }
  return found;
}

/** Unwraps a result. Newer versions of the SDK record `{type: "text" | "json", value}`. */
const resultContent = (result: unknown) =>
  isObject(result) && 'value' in result && typeof result['type'] === 'string'
    ? result['value']
    : result;

export function readVercel(
  { inputs, output, attributes }: RecordedCall,
  messages: RecordedJson[],
): RecordedConversation | null {
  if (!/[.]do(?:Generate|Stream)$/.test(text(attributes['ai.operationId']) ?? '')) return null;
  const calls = list(output['tool_calls']).map((call) =>
    toolCall(call['toolCallId'], call['toolName'], call['input'] ?? call['args']),
  );
  const content = text(output['text']);
  if (content === null && calls.length === 0) return null;
  const answer = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) };
  const reason = text(attributes['ai.response.finishReason']);
  const choice = toChoice(0, answer, reason, vercelLogprobs(attributes));
  return {
    dialect: 'vercel',
    messages: messages
      .flatMap(({ role, content: sent }) =>
        Array.isArray(sent)
          ? toMessages(role as string, vercelParts(list(sent)), undefined)
          : [{ role, content: sent ?? null }],
      )
      .map(toHistoryMessage),
    tools: vercelTools(inputs['tools']),
    choices: [choice],
    promptTokenIds: null,
    isReserialised: choice.turn.toolArguments.includes(null),
  };
}

function vercelLogprobs(attributes: RecordedJson): RecordedJson[] | null {
  const given = attributes['ai.response.providerMetadata'];
  const metadata = typeof given === 'string' ? parsedText(given) : given;
  const openai = isObject(metadata) ? metadata['openai'] : null;
  const logprobs = isObject(openai) ? openai['logprobs'] : null;
  const tokens = list(Array.isArray(logprobs) ? logprobs.flat() : null);
  return tokens.length > 0
    ? tokens.map(({ token, logprob, bytes }) => ({
        token,
        logprob,
        bytes: bytes ?? null,
        top_logprobs: [],
      }))
    : null;
}

function vercelTools(tools: unknown): string | null {
  const parsed = Array.isArray(tools)
    ? tools.map((tool) => (typeof tool === 'string' ? parsedText(tool) : tool))
    : [];
  const found = list(parsed).map((tool) =>
    functionTool(tool, tool['inputSchema'] ?? tool['parameters']),
  );
  return found.length > 0 ? JSON.stringify(found) : null;
}
