import {
  readOutputMessages,
  readInputMessages,
  type ChatMessage,
} from '../../../platform/json/chat.js';
import { ANSWER_MEMBERS, plainText, QUESTION_MEMBERS } from '../../../platform/json/plain-text.js';
import { isObject } from '../../../platform/json/json-object.js';

/** A message of any provider: its text, or its parts as JSON when one of them is no text. */
interface ProviderMessage {
  role: string;
  content: string;
  finish_reason: string;
}

/** A message with the texts among its parts in `said`. */
export interface SpanMessage extends ProviderMessage {
  said: string;
}

export const textOrJson = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

const ownMember = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

function partText(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  const type = ownMember(part, 'type');
  if (type !== undefined && !TEXT_TYPES.has(type as string)) return undefined;
  const text = ownMember(part, 'content') ?? ownMember(part, 'text');
  return typeof text === 'string' ? text : undefined;
}
const TEXT_TYPES = new Set(['text', 'input_text', 'output_text']);

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return textOrJson(content);
  const shown = content.filter((part) => ownMember(part, 'type') !== 'reasoning');
  const texts = shown.map(partText);
  return texts.every((text) => text !== undefined) ? texts.join('\n') : textOrJson(shown);
}

function joinTextParts(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return content.flatMap((part) => partText(part) ?? []).join('\n');
}

function readMessage(message: unknown, usualRole: string): SpanMessage {
  if (!isObject(message)) {
    const content = textOrJson(message);
    return { role: usualRole, content, finish_reason: '', said: content };
  }
  const inner = ownMember(message, 'message');
  if (isObject(inner)) return readMessage({ ...message, ...inner, message: null }, usualRole);
  const role = ownMember(message, 'role');
  const reason = ownMember(message, 'finish_reason');
  const content =
    ownMember(message, 'parts') ??
    ownMember(message, 'content') ??
    ownMember(message, 'text') ??
    undefined;
  const calls = ownMember(message, 'tool_calls');
  return {
    role: typeof role === 'string' ? role : usualRole,
    content: contentText(content) || (calls === undefined ? '' : textOrJson(calls)),
    finish_reason: typeof reason === 'string' ? reason : '',
    said: joinTextParts(content),
  };
}

/** Reads the messages of a call's inputs or output. Any other document becomes one message of the role. */
export function messagesOf(document: unknown, role: string): SpanMessage[] {
  const list = ownMember(document, 'messages') ?? ownMember(document, 'choices');
  if (Array.isArray(list) && list.every(hasRole))
    return list.map((message) => readMessage(message, role));
  const said =
    role === 'user' ? readInputMessages(document, ANSWERED_BY) : readOutputMessages({}, document);
  // the state of a graph repeats the question in its output
  const messages = (said ?? [])
    .map(fromChatMessage)
    .filter((one) => role === 'user' || one.role !== 'user');
  if (messages.some(({ said: text }) => text !== '')) return messages;
  if (Array.isArray(list)) return list.map((message) => readMessage(message, role));
  return singleMessage(document, role);
}

/** Appended when inputs are read: texts without a role count as questions when an answer follows. */
const ANSWERED_BY = { role: 'assistant', content: '.' };

/** Reads a document that is no list of messages: one text, or a member that is known to contain the text. */
function singleMessage(document: unknown, role: string): SpanMessage[] {
  const whole = TEXT_MEMBERS.map((name) => ownMember(document, name)).find(
    (value) => value !== undefined,
  );
  if (whole !== undefined) return [readMessage(whole, role)];
  const plain = plainText(document, role === 'user' ? QUESTION_MEMBERS : ANSWER_MEMBERS);
  if (plain !== undefined) return plain === '' ? [] : [readMessage(plain, role)];
  return typeof document === 'string' ? [readMessage(document, role)] : [];
}

/** Returns true for a message in the form of OpenAI or OpenTelemetry. Other messages are read as conversations. */
function hasRole(message: unknown): boolean {
  const inner = ownMember(message, 'message') ?? message;
  const content = ownMember(inner, 'content');
  const isQuoted = typeof content === 'string' && /^\s*\[\s*\{/.test(content);
  const role = ownMember(message, 'role') ?? ownMember(inner, 'role');
  const isUsual = typeof role === 'string' && /^[a-z_]*$/.test(role);
  const names = ['content', 'parts', 'text', 'tool_calls'];
  return isUsual && !isQuoted && names.some((name) => ownMember(inner, name) !== undefined);
}

/** Converts a message of a conversation. Without texts, its other pieces are its content. */
function fromChatMessage({ role, pieces }: ChatMessage): SpanMessage {
  const texts = pieces.filter(({ kind, text }) => kind === 'text' && text !== '');
  const join = (some: ChatMessage['pieces']) => some.map(({ text }) => text).join('\n');
  const shown = pieces.filter(({ kind }) => kind !== 'reasoning');
  const said = join(texts);
  return { role, content: said === '' ? join(shown) : said, finish_reason: '', said };
}
const TEXT_MEMBERS = ['prompt', 'completion', 'text', 'value', 'query', 'input', 'output'];

export function systemTexts(instructions: unknown): string[] {
  if (instructions === undefined || instructions === null) return [];
  const list = Array.isArray(instructions) ? instructions : [instructions];
  return list.map((part) => partText(part) ?? contentText(ownMember(part, 'parts') ?? part));
}

function partsOf(document: unknown, type: string): object[] {
  const list = ownMember(document, 'messages');
  if (!Array.isArray(list)) return [];
  return list.flatMap((message) => {
    const parts = ownMember(message, 'parts') ?? ownMember(message, 'content');
    return Array.isArray(parts) ? parts.filter((part) => ownMember(part, 'type') === type) : [];
  });
}

/** Returns the reasoning of a model that its output contains, or null. */
export function reasoningOf(output: unknown): string | null {
  const texts = partsOf(output, 'reasoning').map((part) =>
    textOrJson(ownMember(part, 'content') ?? ownMember(part, 'text') ?? ''),
  );
  const whole = ownMember(output, 'reasoning');
  if (typeof whole === 'string') texts.push(whole);
  return texts.length > 0 ? texts.join('\n') : null;
}

export interface RequestedToolCall {
  name: string | null;
  arguments: string | null;
}

export function requestedToolCalls(output: unknown): RequestedToolCall[] {
  const list = ownMember(output, 'messages');
  const chats = (Array.isArray(list) ? list : []).flatMap((message) => {
    const calls = ownMember(message, 'tool_calls');
    return Array.isArray(calls) ? calls.map((call) => ownMember(call, 'function') ?? call) : [];
  });
  return [...partsOf(output, 'tool_call'), ...chats].map((call) => {
    const [name, args] = [ownMember(call, 'name'), ownMember(call, 'arguments')];
    return {
      name: typeof name === 'string' ? name : null,
      arguments: args === undefined || args === null ? null : textOrJson(args),
    };
  });
}
