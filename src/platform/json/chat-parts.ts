import { imageIn } from './chat-images.js';
import { isObject } from './json-object.js';
import { skipValue } from './json-grammar.js';

/* Reads parts of messages in the formats of the clients that record them. */

/** A piece of a message. `data` is the JSON of a part in any other format. */
export interface MessagePiece {
  kind: 'text' | 'reasoning' | 'call' | 'result' | 'data' | 'exception';
  /** Name of the tool for a call or a result, and the type of the part for data. Otherwise empty. */
  name: string;
  text: string;
  /** The image itself. `text` only describes it. */
  base64?: string;
}

export type ChatObject = Record<string, unknown>;
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '';

export const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** True for an empty value or a text of blanks. */
export const isVoid = (value: unknown): boolean =>
  isEmpty(value) || (typeof value === 'string' && value.trim() === '');

/** Most levels of JSON inside JSON strings that are decoded. Some clients nest them; deeper ones stay texts. */
const MAX_QUOTED = 3;

/** Decodes a text that is the JSON of an object, a list or a string. Returns any other value unchanged. */
export function decodeJsonText(value: unknown): unknown {
  let inner = value;
  for (let depth = 0; depth < MAX_QUOTED; depth++) {
    if (typeof inner !== 'string' || !/^\s*[[{"]/.test(inner)) break;
    try {
      skipValue(inner, 0); // throws when the value is too deep to be shown
      inner = parseLossless(inner);
    } catch {
      break;
    }
  }
  return inner;
}

export const isPartList = (value: unknown): value is ChatObject[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => isObject(one) && isText(one['type']));

export function readPieces(value: unknown, member = 'content'): MessagePiece[] {
  if (isEmpty(value)) return [];
  if (isText(value)) {
    const parts = /^\s*\[\s*\{/.test(value) ? decodeJsonText(value) : undefined;
    if (isPartList(parts) && parts.every((part) => isKnownPart(part)))
      return readPieces(parts, member);
    const isReasoning = member.startsWith('reasoning') || member === 'thinking';
    return [{ kind: isReasoning ? 'reasoning' : 'text', name: '', text: value }];
  }
  if (member === 'tool_calls' || member === 'function_call')
    return [value]
      .flat()
      .map((one) => (isObject(one) && readToolCall(one)) || dataPiece('tool_call', one));
  const part = (one: unknown) =>
    readPart(one, member === 'content' || member === 'parts' ? '' : member);
  // Vercel's `step-start` marks the beginning of a step of a message.
  const isSaid = (one: unknown) => !isObject(one) || one['type'] !== 'step-start';
  return Array.isArray(value) ? value.filter(isSaid).map(part) : [part(value)];
}

const CALLS = [
  'tool_call',
  'tool_use',
  'server_tool_use',
  'tool-call',
  'function_call',
  'custom_tool_call',
  'function',
  'mcp_call',
];
const RESULTS = [
  'tool_call_response',
  'tool_result',
  'tool-result',
  'function_call_output',
  'custom_tool_call_output',
  'tool-return',
];
const TEXTS = [
  'text',
  'input_text',
  'output_text',
  'summary_text',
  'reasoning_text',
  'refusal',
  'system-prompt',
  'user-prompt',
  'retry-prompt',
];

const READERS = new Map<string, (part: ChatObject) => MessagePiece | undefined>([
  ...CALLS.map((type) => [type, readToolCall] as const),
  ...RESULTS.map((type) => [type, readToolResult] as const),
  ...TEXTS.map((type) => [type, readText] as const),
  ['reasoning', readReasoning],
  ['thinking', readReasoning],
]);

const isKnownPart = ({ type }: ChatObject): boolean =>
  READERS.has(type as string) || type === 'image_url' || type === 'image';

const isUiTool = ({ type, ...part }: ChatObject): boolean =>
  /^(?:tool-|dynamic-tool$)/.test(type as string) && ('state' in part || 'toolInvocation' in part);

/**
 * Members in which LlamaIndex 0.12, Semantic Kernel 1 and A2A 0.3 name the type of a part. Only known types are used.
 */
const TYPES = ['block_type', 'content_type', 'kind'];
const typeOf = (part: ChatObject): unknown =>
  part['type'] ?? TYPES.map((name) => part[name]).find((type) => READERS.has(type as string));

/** Reads a part in one of the clients' formats. Any other part becomes JSON. */
export function readPart(part: unknown, member = ''): MessagePiece {
  if (isText(part)) return { kind: 'text', name: '', text: part };
  if (!isObject(part)) return dataPiece('', part);
  const type = typeOf(part);
  if (!isText(type)) return readUntyped(part, member);
  const read = isUiTool(part) ? readUiTool : READERS.get(type);
  return read?.(part) ?? imageOf(part) ?? dataPiece(type, part);
}

/**
 * Reads a tool in a UI message of Vercel: `tool-<name>` and `dynamic-tool` of version 5, `tool-invocation` of 4. It is
 * a result if it has an output, otherwise a call.
 */
function readUiTool(part: ChatObject): MessagePiece | undefined {
  const inner = isObject(part['toolInvocation']) ? part['toolInvocation'] : part;
  const name = inner['toolName'] ?? String(part['type']).slice('tool-'.length);
  const tool = { ...inner, name };
  return isEmpty(inner['output']) && isEmpty(inner['result'])
    ? readToolCall(tool)
    : readToolResult(tool);
}

function imageOf(part: ChatObject): MessagePiece | undefined {
  const image = imageIn(part);
  return image && { ...dataPiece(image.type, part), base64: image.base64 };
}

/** Readers of the value of a part with a single member, matched by the name of the member. */
const WRAPPED: readonly (readonly [RegExp, (value: ChatObject) => MessagePiece | undefined])[] = [
  [/^(?:function_?call|tool_?use)$/i, readToolCall],
  [/^(?:function_?response|tool_?result)$/i, readToolResult],
  [/^message_content$/, (value) => readPart(value)],
];

/** Reads a part without a type by its single member, as Google's and Amazon's parts are written. */
function readUntyped(part: ChatObject, member: string): MessagePiece {
  const names = Object.keys(part).filter(
    (name) => !isEmpty(part[name]) && !name.startsWith('thought'),
  );
  const [name = member, ...more] = names;
  if (more.length > 0) return readFunction(part) ?? dataPiece(member, part);
  if (name === 'text' || name === 'content') return readText(part) ?? dataPiece(name, part[name]);
  return readWrapped(name, part[name]) ?? imageOf(part) ?? dataPiece(name, part[name] ?? part);
}

const readWrapped = (name: string, value: unknown): MessagePiece | undefined =>
  isObject(value) ? WRAPPED.find(([one]) => one.test(name))?.[1](value) : undefined;

/** Reads AutoGen's function calls and their results, which have no type. */
function readFunction(part: ChatObject): MessagePiece | undefined {
  if (isText(part['name']) && 'arguments' in part) return readToolCall(part);
  return isText(part['call_id']) && 'content' in part ? readToolResult(part) : undefined;
}

function readText(part: ChatObject): MessagePiece | undefined {
  const text = part['text'] ?? part['content'] ?? part['refusal'];
  if (typeof text !== 'string') return undefined;
  return { kind: part['thought'] === true ? 'reasoning' : 'text', name: '', text };
}

function readReasoning({ content, text, thinking, summary }: ChatObject): MessagePiece | undefined {
  const texts = [content ?? text ?? thinking, summary].flatMap((value) => readPieces(value));
  if (texts.length === 0) return undefined;
  return { kind: 'reasoning', name: '', text: texts.map((one) => one.text).join('\n') };
}

function readToolCall(part: ChatObject): MessagePiece | undefined {
  const inner = part['tool_call'] ?? part;
  const call = isObject(inner) && isObject(inner['function']) ? inner['function'] : inner;
  if (!isObject(call)) return undefined;
  const name = call['name'] ?? call['toolName'] ?? call['tool_name'];
  if (!isText(name)) return undefined;
  const args = call['arguments'] ?? call['args'] ?? call['input'];
  if (args !== undefined) return { kind: 'call', name, text: asText(args) };
  // the definition of a tool, and not a call of it
  if (['description', 'parameters'].some((one) => one in call)) return undefined;
  return { kind: 'call', name, text: '' };
}

function readToolResult(part: ChatObject): MessagePiece | undefined {
  const value = ['response', 'result', 'output', 'content']
    .map((name) => part[name])
    .find((one) => one !== undefined);
  if (value === undefined) return undefined;
  const name = part['name'] ?? part['toolName'] ?? part['tool_name'];
  const text = isPartList(value)
    ? value.map((one) => readPart(one).text).join('\n')
    : asText(value);
  const failed = part['is_error'] === true ? ' error' : '';
  return { kind: 'result', name: `${isText(name) ? name : ''}${failed}`.trim(), text };
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : printJson(value));

export const dataPiece = (name: string, value: unknown): MessagePiece => ({
  kind: 'data',
  name,
  text: printJson(value),
});

/** Matches file contents inside a part, which are shortened. So many characters without a blank are not words. */
const FILE = /^[\w+/=:;,.-]{400,}$/;
const printJson = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' && FILE.test(one)
      ? `${one.slice(0, 40)}… (${one.length.toLocaleString('en-US')} characters)`
      : one,
  );

/**
 * Parses JSON and keeps numbers as they were sent if JavaScript would print them differently, such as numbers beyond a
 * double. Browsers without `JSON.rawJSON` do not keep them.
 */
export function parseLossless(text: string): unknown {
  const { rawJSON } = JSON as { rawJSON?: (source: string) => unknown };
  if (!rawJSON) return JSON.parse(text);
  const revive = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined && context.source !== String(value)
      ? rawJSON(context.source)
      : value;
  return JSON.parse(text, revive);
}
