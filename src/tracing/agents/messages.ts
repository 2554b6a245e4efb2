import {
  ANSWERED,
  ASKED,
  plainText,
  readAnswered,
  readAsked,
  type Said,
} from '../../platform/json/chat.js';
import { isObject } from '../../platform/json/is-object.js';

/** A message of any provider: its text, or the JSON of its parts where these are no texts. */
interface Message {
  role: string;
  content: string;
  finish_reason: string;
}

/** A message with the texts among its parts alone. */
export interface ReadMessage extends Message {
  said: string;
}

/** A text as it is, everything else as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

const own = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** The text of a part, in the spellings of OpenTelemetry and of the providers. */
function partText(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  const type = own(part, 'type');
  if (type !== undefined && !TEXT_TYPES.has(type as string)) return undefined;
  const text = own(part, 'content') ?? own(part, 'text');
  return typeof text === 'string' ? text : undefined;
}
const TEXT_TYPES = new Set(['text', 'input_text', 'output_text']);

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return textOf(content);
  const shown = content.filter((part) => own(part, 'type') !== 'reasoning');
  const texts = shown.map(partText);
  return texts.every((text) => text !== undefined) ? texts.join('\n') : textOf(shown);
}

/** The texts among parts. */
function saidIn(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return content.flatMap((part) => partText(part) ?? []).join('\n');
}

function readMessage(message: unknown, usualRole: string): ReadMessage {
  if (!isObject(message)) {
    const content = textOf(message);
    return { role: usualRole, content, finish_reason: '', said: content };
  }
  const inner = own(message, 'message');
  if (isObject(inner)) return readMessage({ ...message, ...inner, message: null }, usualRole);
  const role = own(message, 'role');
  const reason = own(message, 'finish_reason');
  const content =
    own(message, 'parts') ?? own(message, 'content') ?? own(message, 'text') ?? undefined;
  const calls = own(message, 'tool_calls');
  return {
    role: typeof role === 'string' ? role : usualRole,
    content: contentText(content) || (calls === undefined ? '' : textOf(calls)),
    finish_reason: typeof reason === 'string' ? reason : '',
    said: saidIn(content),
  };
}

/** The messages of the inputs or the output of a call; what is no list of messages is one of the role. */
export function messagesOf(document: unknown, role: string): ReadMessage[] {
  const list = own(document, 'messages') ?? own(document, 'choices');
  if (Array.isArray(list) && list.every(hasRole))
    return list.map((message) => readMessage(message, role));
  const said = role === 'user' ? readAsked(document, ANSWERED_BY) : readAnswered({}, document);
  // the state of a graph repeats the question in its output
  const messages = (said ?? [])
    .map(readSaid)
    .filter((one) => role === 'user' || one.role !== 'user');
  if (messages.some(({ said: text }) => text !== '')) return messages;
  if (Array.isArray(list)) return list.map((message) => readMessage(message, role));
  return wholeOf(document, role);
}

/** Texts without a role count as questions where an answer follows, as it does behind the inputs of models and agents. */
const ANSWERED_BY = { role: 'assistant', content: '.' };

/** A document that is no list of messages: one text, or what stands under a name that says so. */
function wholeOf(document: unknown, role: string): ReadMessage[] {
  const whole = WHOLES.map((name) => own(document, name)).find((value) => value !== undefined);
  if (whole !== undefined) return [readMessage(whole, role)];
  const plain = plainText(document, role === 'user' ? ASKED : ANSWERED);
  if (plain !== undefined) return plain === '' ? [] : [readMessage(plain, role)];
  return typeof document === 'string' ? [readMessage(document, role)] : [];
}

/** Whether a message is in the form of OpenAI or of OpenTelemetry; others are read as conversations are. */
function hasRole(message: unknown): boolean {
  const inner = own(message, 'message') ?? message;
  const content = own(inner, 'content');
  const isQuoted = typeof content === 'string' && /^\s*\[\s*\{/.test(content);
  const role = own(message, 'role') ?? own(inner, 'role');
  const isUsual = typeof role === 'string' && /^[a-z_]*$/.test(role);
  const names = ['content', 'parts', 'text', 'tool_calls'];
  return isUsual && !isQuoted && names.some((name) => own(inner, name) !== undefined);
}

/** A message of a conversation: its texts, or what else it has where it has none. */
function readSaid({ role, pieces }: Said): ReadMessage {
  const texts = pieces.filter(({ kind, text }) => kind === 'text' && text !== '');
  const join = (some: Said['pieces']) => some.map(({ text }) => text).join('\n');
  const shown = pieces.filter(({ kind }) => kind !== 'reasoning');
  const said = join(texts);
  return { role, content: said === '' ? join(shown) : said, finish_reason: '', said };
}
const WHOLES = ['prompt', 'completion', 'text', 'value', 'query', 'input', 'output'];

/** The texts of system instructions, which are parts or one text. */
export function systemTexts(instructions: unknown): string[] {
  if (instructions === undefined || instructions === null) return [];
  const list = Array.isArray(instructions) ? instructions : [instructions];
  return list.map((part) => partText(part) ?? contentText(own(part, 'parts') ?? part));
}

/** Parts of the messages of a document that have a type. */
function partsOf(document: unknown, type: string): object[] {
  const list = own(document, 'messages');
  if (!Array.isArray(list)) return [];
  return list.flatMap((message) => {
    const parts = own(message, 'parts') ?? own(message, 'content');
    return Array.isArray(parts) ? parts.filter((part) => own(part, 'type') === type) : [];
  });
}

/** What a model thought, as far as its output says. */
export function reasoningOf(output: unknown): string | null {
  const texts = partsOf(output, 'reasoning').map((part) =>
    textOf(own(part, 'content') ?? own(part, 'text') ?? ''),
  );
  const whole = own(output, 'reasoning');
  if (typeof whole === 'string') texts.push(whole);
  return texts.length > 0 ? texts.join('\n') : null;
}

/** A tool that a model asked for. */
export interface AskedTool {
  name: string | null;
  arguments: string | null;
}

export function askedTools(output: unknown): AskedTool[] {
  const list = own(output, 'messages');
  const chats = (Array.isArray(list) ? list : []).flatMap((message) => {
    const calls = own(message, 'tool_calls');
    return Array.isArray(calls) ? calls.map((call) => own(call, 'function') ?? call) : [];
  });
  return [...partsOf(output, 'tool_call'), ...chats].map((call) => {
    const [name, args] = [own(call, 'name'), own(call, 'arguments')];
    return {
      name: typeof name === 'string' ? name : null,
      arguments: args === undefined || args === null ? null : textOf(args),
    };
  });
}
