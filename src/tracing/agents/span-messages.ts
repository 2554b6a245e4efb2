import {
  readOutputMessages,
  readInputMessages,
  type ChatMessage,
} from '../../platform/json/chat.js';
import { ANSWER_MEMBERS, plainText, QUESTION_MEMBERS } from '../../platform/json/plain-text.js';
import { isObject } from '../../platform/json/json-object.js';

/** A message of any provider: its text, or the JSON of its parts where these are no texts. */
interface ProviderMessage {
  role: string;
  content: string;
  finish_reason: string;
}

/** A message with the texts among its parts alone. */
export interface SpanMessage extends ProviderMessage {
  said: string;
}

/** A text as it is, everything else as JSON. */
export const textOrJson = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

const ownMember = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** The text of a part, in the spellings of OpenTelemetry and of the providers. */
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

/** The texts among parts. */
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

/** The messages of the inputs or the output of a call; what is no list of messages is one of the role. */
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

/** Texts without a role count as questions where an answer follows, as it does behind the inputs of models and agents. */
const ANSWERED_BY = { role: 'assistant', content: '.' };

/** A document that is no list of messages: one text, or what stands under a name that says so. */
function singleMessage(document: unknown, role: string): SpanMessage[] {
  const whole = TEXT_MEMBERS.map((name) => ownMember(document, name)).find(
    (value) => value !== undefined,
  );
  if (whole !== undefined) return [readMessage(whole, role)];
  const plain = plainText(document, role === 'user' ? QUESTION_MEMBERS : ANSWER_MEMBERS);
  if (plain !== undefined) return plain === '' ? [] : [readMessage(plain, role)];
  return typeof document === 'string' ? [readMessage(document, role)] : [];
}

/** Whether a message is in the form of OpenAI or of OpenTelemetry; others are read as conversations are. */
function hasRole(message: unknown): boolean {
  const inner = ownMember(message, 'message') ?? message;
  const content = ownMember(inner, 'content');
  const isQuoted = typeof content === 'string' && /^\s*\[\s*\{/.test(content);
  const role = ownMember(message, 'role') ?? ownMember(inner, 'role');
  const isUsual = typeof role === 'string' && /^[a-z_]*$/.test(role);
  const names = ['content', 'parts', 'text', 'tool_calls'];
  return isUsual && !isQuoted && names.some((name) => ownMember(inner, name) !== undefined);
}

/** A message of a conversation: its texts, or what else it has where it has none. */
function fromChatMessage({ role, pieces }: ChatMessage): SpanMessage {
  const texts = pieces.filter(({ kind, text }) => kind === 'text' && text !== '');
  const join = (some: ChatMessage['pieces']) => some.map(({ text }) => text).join('\n');
  const shown = pieces.filter(({ kind }) => kind !== 'reasoning');
  const said = join(texts);
  return { role, content: said === '' ? join(shown) : said, finish_reason: '', said };
}
const TEXT_MEMBERS = ['prompt', 'completion', 'text', 'value', 'query', 'input', 'output'];

/** The texts of system instructions, which are parts or one text. */
export function systemTexts(instructions: unknown): string[] {
  if (instructions === undefined || instructions === null) return [];
  const list = Array.isArray(instructions) ? instructions : [instructions];
  return list.map((part) => partText(part) ?? contentText(ownMember(part, 'parts') ?? part));
}

/** Parts of the messages of a document that have a type. */
function partsOf(document: unknown, type: string): object[] {
  const list = ownMember(document, 'messages');
  if (!Array.isArray(list)) return [];
  return list.flatMap((message) => {
    const parts = ownMember(message, 'parts') ?? ownMember(message, 'content');
    return Array.isArray(parts) ? parts.filter((part) => ownMember(part, 'type') === type) : [];
  });
}

/** What a model thought, as far as its output says. */
export function reasoningOf(output: unknown): string | null {
  const texts = partsOf(output, 'reasoning').map((part) =>
    textOrJson(ownMember(part, 'content') ?? ownMember(part, 'text') ?? ''),
  );
  const whole = ownMember(output, 'reasoning');
  if (typeof whole === 'string') texts.push(whole);
  return texts.length > 0 ? texts.join('\n') : null;
}

/** A tool that a model asked for. */
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
