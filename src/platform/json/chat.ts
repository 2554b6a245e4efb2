import {
  dataPiece,
  isEmpty,
  isPartList,
  isText,
  isVoid,
  type ChatObject,
  type MessagePiece,
  readPart,
  readPieces,
  decodeJsonText,
} from './chat-parts.js';
import { isObject } from './json-object.js';
import { ANSWER_MEMBERS, innerDocument, plainText, WRAPPERS } from './plain-text.js';

/*
 * Conversations in the documents of calls. The console shows them, and the service finds the question and the answer of
 * a turn in them.
 */

/** A message. It has at least one piece. All pieces are blank only when nothing was sent. */
export interface ChatMessage {
  role: string;
  pieces: MessagePiece[];
  /** Set for a choice of a trajectory, on which the policy is trained. */
  isTrained?: true;
}

export interface Conversation {
  said: ChatMessage[];
  /** Members of the documents that are not part of the conversation. */
  others: string[];
}

/** True when a document contains only empty values. */
export const isBlank = (document: unknown): boolean =>
  isEmpty(document) ||
  (typeof document === 'object' && Object.values(document as object).every(isBlank));

/**
 * Returns the input messages, or undefined when no message is found. A plain text is a message only if the call has an
 * answer.
 */
export const readInputMessages = (inputs: unknown, output: unknown): ChatMessage[] | undefined =>
  findInputMessages(inputs, findOutputMessages(output) !== undefined)?.said;

/** Returns the output messages that are not repeated inputs, or undefined when no message is found. */
export function readOutputMessages(inputs: unknown, output: unknown): ChatMessage[] | undefined {
  const answers = findOutputMessages(output);
  return answers && newMessages(answers.said, findInputMessages(inputs, true)?.said ?? []);
}

/**
 * Returns the messages of a call in any known format: the inputs, then the output, then the exception. Undefined when
 * the inputs are not a chat.
 */
export function readChat(
  inputs: unknown,
  output: unknown,
  exception?: unknown,
): Conversation | undefined {
  const answers = findOutputMessages(output);
  const asked = findInputMessages(inputs, answers !== undefined);
  if (!asked) return undefined;
  const [first] = asked.said;
  const instructions = isObject(output) && first?.role !== 'system' ? output['instructions'] : null;
  const system = isText(instructions) ? [makeMessage('system', readPieces(instructions))] : [];
  const failed = isText(exception)
    ? [makeMessage('exception', [{ kind: 'exception', name: '', text: exception }])]
    : [];
  return {
    said: [
      ...system,
      ...asked.said,
      ...(answers ? newMessages(answers.said, asked.said) : resultMessages(output)),
      ...failed,
    ],
    others: [
      ...unreadMembers('inputs', inputs, asked.taken),
      ...(answers
        ? unreadMembers('output', output, [...answers.taken, ...system.map(() => 'instructions')])
        : []),
    ],
  };
}

/** Reads the turns of a trajectory: messages, and choices, which have a member `message`. */
export const readTrajectoryMessages = (items: unknown): ChatMessage[] =>
  (Array.isArray(items) ? items : []).map((item): ChatMessage => {
    const message = isObject(item) ? item['message'] : undefined;
    const said = parseMessage(message ?? item) ?? makeMessage('item', [dataPiece('', item)]);
    return message === undefined ? said : { ...said, isTrained: true };
  });

export const joinPieceTexts = ({ pieces }: ChatMessage): string =>
  pieces.map(({ text }) => text).join('\n');

/** True for a user message that contains more than results of tools. */
export const isQuestion = ({ role, pieces }: ChatMessage): boolean =>
  role === 'user' && pieces.some(({ kind }) => kind !== 'result');

interface FoundMessages {
  said: ChatMessage[];
  taken: string[];
}

const unreadMembers = (name: string, document: unknown, taken: string[]): string[] =>
  isObject(document)
    ? Object.entries(document)
        .filter(([member, value]) => !taken.includes(member) && !isEmpty(value))
        .map(([member]) => `${name}.${member}`)
    : [];

/** Removes repeated inputs. An output that is the state of a graph repeats the inputs before the new messages. */
function newMessages(said: ChatMessage[], before: readonly ChatMessage[]): ChatMessage[] {
  const isRepeated =
    said.length > before.length &&
    JSON.stringify(said.slice(0, before.length)) === JSON.stringify(before);
  return isRepeated ? said.slice(before.length) : said;
}

const SYSTEM = ['system', 'instructions', 'system_instructions', 'system_instruction'];
const HISTORY = ['chat_history', 'history'];
const QUESTIONS = [
  'messages',
  'input',
  'inputs',
  'input_messages',
  'contents',
  'prompt',
  'new_message',
  'message',
  'task',
  'question',
  'query',
  'user_input',
  'value',
  // AutoGen's runtime passes the answers of agents on as inputs.
  'response',
  'chat_message',
];

function findInputMessages(document: unknown, isAnswered: boolean): FoundMessages | undefined {
  const inputs = decodeJsonText(document);
  if (Array.isArray(inputs)) return toFoundMessages(messagesIn(inputs), []);
  if (!isObject(inputs)) return undefined;
  const named =
    isText(inputs['role']) || isText(inputs['source']) ? parseMessage(inputs) : undefined;
  if (named) return { said: [named], taken: Object.keys(inputs) };
  const found = findInputMembers(inputs, isAnswered);
  if (found.length === 0) return findWrappedInput(inputs, isAnswered);
  const { said, taken } = findSystemMessages(inputs);
  return {
    said: [...said, ...found.flatMap((one) => one.said)],
    taken: [...taken, ...found.flatMap((one) => one.taken)],
  };
}

function findWrappedInput(inputs: ChatObject, isAnswered: boolean): FoundMessages | undefined {
  for (const name of WRAPPERS) {
    const inner = innerDocument(inputs, name);
    const found = inner && findInputMessages(inner, isAnswered);
    if (found) return { said: found.said, taken: [name] };
  }
  return undefined;
}

const toFoundMessages = (
  said: ChatMessage[] | undefined,
  taken: string[],
): FoundMessages | undefined => said && { said, taken };

function findInputMembers(inputs: ChatObject, isAnswered: boolean): FoundMessages[] {
  const readList = (name: string) => {
    const value = decodeJsonText(inputs[name]);
    const inner = () => (isObject(value) ? findInputMessages(value, false)?.said : undefined);
    return toFoundMessages(messagesIn(value) ?? inner(), [name]);
  };
  const first = (names: readonly string[]) => {
    for (const name of names) {
      const found = readList(name);
      if (found) return found;
    }
    return undefined;
  };
  const before = first(HISTORY);
  let asked = first(QUESTIONS);
  // A text is a message only beside other messages, because many calls have an `input`.
  const text = QUESTIONS.find((name) => isText(inputs[name]) || isTextList(inputs[name]));
  if (text && !asked && (before || isAnswered))
    asked = { said: [makeMessage('user', readPieces(inputs[text]))], taken: [text] };
  return [before, asked].filter((one) => one !== undefined);
}

/** True for texts without a role, or for parts as in Gemini's `contents` (google-genai 1). */
const isTextList = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => isText(one) || (isObject(one) && isText(one['text']) && !('role' in one)));

function findSystemMessages(inputs: ChatObject): FoundMessages {
  const config = isObject(inputs['config']) ? inputs['config'] : {};
  const taken = SYSTEM.filter((name) => !isEmpty(inputs[name]));
  const values = [...taken.map((name) => inputs[name]), config['system_instruction']];
  const innerParts = (value: unknown) => (isObject(value) ? (value['parts'] ?? value) : value);
  const said = values
    .filter((value) => !isEmpty(value))
    .map((value) => makeMessage('system', readPieces(innerParts(value))));
  return { said, taken };
}

/** Returns the messages of a list or of a single value, or undefined when no message is found. */
function messagesIn(value: unknown): ChatMessage[] | undefined {
  const list = listOfMessages(value);
  const said = list.map((one) => parseMessage(one));
  if (!list.every(isObject) || !said.some((one) => one)) return undefined;
  return said.map((one, n) => one ?? makeMessage('item', [dataPiece('', list[n])]));
}

/** Joins nested lists (LangChain's batches), and converts pairs of a role and a content to messages. */
function listOfMessages(value: unknown): unknown[] {
  const list = Array.isArray(value) && !isPair(value) ? value : [value];
  return list
    .flatMap((one) => (Array.isArray(one) && !isPair(one) ? (one as unknown[]) : [one]))
    .map((one) => decodeJsonText(one))
    .flatMap((one) => (isPair(one) ? [{ role: one[0], content: one[1] }] : messagesOfParts(one)));
}

/** True for `["user", "…"]`, which LangChain 1 (`langchain_core.messages.utils`) accepts as a message. */
const isPair = (value: unknown): value is [string, unknown] =>
  Array.isArray(value) &&
  value.length === 2 &&
  typeof value[0] === 'string' &&
  ROLES.has(value[0].toLowerCase()) &&
  (typeof value[1] === 'string' || isPartList(value[1]));

/**
 * Roles of the request parts that Pydantic AI 1 stores (`ModelMessagesTypeAdapter`). Parts of a response belong to the
 * model.
 */
const PART_ROLES = new Map([
  ['system-prompt', 'system'],
  ['user-prompt', 'user'],
  ['tool-return', 'tool'],
  ['retry-prompt', 'user'],
]);

/** Converts each part to a message, for formats in which each part has a role of its own. */
function messagesOfParts(value: unknown): unknown[] {
  if (!isObject(value) || (value['kind'] !== 'request' && value['kind'] !== 'response'))
    return [value];
  const { parts } = value;
  const isNative = (part: unknown): part is ChatObject =>
    isObject(part) && isText(part['part_kind']);
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isNative)) return [value];
  return parts.map((part: ChatObject) => ({
    role: PART_ROLES.get(part['part_kind'] as string) ?? 'assistant',
    parts: [{ ...part, type: part['part_kind'] }],
  }));
}

/** Returns a message for an output that is not a chat. */
function resultMessages(output: unknown): ChatMessage[] {
  if (output === null || output === undefined) return [];
  const told = decodeJsonText(output);
  const text =
    isObject(told) && Object.keys(told).length === 1 ? plainText(told, ANSWER_MEMBERS) : told;
  const pieces = isText(text) || isPartList(text) ? readPieces(text) : [dataPiece('', output)];
  return [makeMessage('output', output === '' ? [] : pieces)];
}

const ANSWERS = [
  'choices',
  'candidates',
  'generations',
  'output',
  'outputs',
  'messages',
  'message',
  'response',
  'chat_message',
  'result',
  'replies', // Haystack 2
  'artifacts', // A2A 0.3
];

function findOutputMessages(document: unknown): FoundMessages | undefined {
  const output = decodeJsonText(document);
  const whole = Array.isArray(output) ? messagesIn(output) : undefined;
  if (whole) return { said: whole, taken: [] };
  if (!isObject(output)) return undefined;
  for (const name of ANSWERS) {
    const said = readOutputMember(output[name], name);
    if (said) return { said, taken: [name] };
  }
  const said = parseMessage(output['content'], 'assistant');
  if (said) return { said: [said], taken: ['content'] };
  const itself = readBareMessage(output);
  if (itself) return itself;
  for (const name of [...ANSWERS, ...WRAPPERS]) {
    const inner = innerDocument(output, name);
    const found = inner && findOutputMessages(inner);
    if (found) return { said: found.said, taken: [name] };
  }
  return undefined;
}

function readOutputMember(value: unknown, name: string): ChatMessage[] | undefined {
  const list = listOfMessages(decodeJsonText(value));
  const said = list.map(
    (one) => parseMessage(unwrapMessage(one), 'assistant') ?? parseMessage(one),
  );
  return said.some((one) => one)
    ? said.map((one, n) => one ?? makeMessage('output', [dataPiece(name, list[n])]))
    : undefined;
}

/** Reads an output that is itself a message, even without a role. */
function readBareMessage(output: ChatObject): FoundMessages | undefined {
  const { role, text, tool_calls, content } = output;
  const whole = isText(role) ? undefined : parseMessage(output, 'assistant');
  if (whole) return { said: [whole], taken: Object.keys(output) };
  const taken = MEMBERS.filter((name) => !isEmpty(output[name]));
  const isAnswer = isText(text) || Array.isArray(tool_calls) || content !== undefined;
  if (!isText(role) && !(isAnswer && taken.length > 0)) return undefined;
  const said = makeMessage(isText(role) ? role : 'assistant', memberPieces(output));
  return { said: [said], taken: ['role', ...taken] };
}

/** Returns the message inside a choice, a candidate or a generation. */
function unwrapMessage(one: unknown): unknown {
  if (!isObject(one)) return one;
  const { message, content, text } = one;
  if (isObject(message)) return withRole(message);
  if (isObject(content)) return content;
  return isText(text) && !isText(one['role']) ? { role: 'assistant', content: text } : one;
}

/** Adds the role `assistant` to a message of a choice that has no role. */
const withRole = (message: ChatObject): ChatObject =>
  ['role', 'type', 'source', 'lc'].some((name) => name in message)
    ? message
    : { role: 'assistant', ...message };

/** Roles, keyed by LangChain's message types and AutoGen's, such as `UserMessage`. */
const ROLES = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ...['user', 'assistant', 'system', 'tool', 'function', 'developer', 'chat', 'placeholder'].map(
    (name) => [name, name] as const,
  ),
]);
/** Types of items that are messages in lists without roles. */
const ITEMS = [
  'function_call',
  'function_call_output',
  'reasoning',
  'custom_tool_call',
  'custom_tool_call_output',
];

/** Members of a message with content, in the order in which they are shown. */
const MEMBERS = [
  'reasoning_content',
  'reasoning',
  'thinking',
  'content',
  'contents',
  'parts',
  'blocks', // LlamaIndex 0.12
  'items', // Semantic Kernel 1
  'text',
  'refusal',
  'audio',
  'images',
  'files',
  'function_call',
  'tool_calls',
];

function parseMessage(value: unknown, roleless = 'user'): ChatMessage | undefined {
  if (!isObject(value)) return undefined;
  const message = unwrapLangChain(value);
  const { type, source } = message;
  const role = roleOf(message);
  if (isText(role)) return makeMessage(namedRole(role), memberPieces(message));
  // In AutoGen 0.7 (`autogen_agentchat.messages`) the source is the user or the name of an agent.
  if (isText(source) && 'content' in message)
    return makeMessage(namedRole(source), memberPieces(message));
  if (!isText(type))
    return Array.isArray(message['parts'])
      ? makeMessage(roleless, memberPieces(message))
      : undefined;
  const named = ROLES.get(type.replace(/Message(?:Chunk)?$/, '').toLowerCase());
  if (named && 'content' in message) return makeMessage(named, memberPieces(message));
  if (ITEMS.includes(type))
    return makeMessage(type.endsWith('_output') ? 'tool' : 'assistant', [readPart(message)]);
  return undefined;
}

/** Returns the role. In messages of Microsoft's Agent Framework (1.0) it is an object. */
const roleOf = ({ role }: ChatObject): unknown => (isObject(role) ? role['value'] : role);

/** Returns the role for the name of an enumeration member, such as `MessageRole.USER` (LlamaIndex 0.12). */
const namedRole = (name: string): string =>
  ROLES.get(name.replace(/^\w*Role\./, '').toLowerCase()) ?? name;

/**
 * Unwraps LangChain's messages: `{lc, id: […, "HumanMessage"], kwargs}` (`dumps`) or `{type, data}`
 * (`messages_to_dict`).
 */
function unwrapLangChain(value: ChatObject): ChatObject {
  const { lc, id, kwargs, type, data: inner } = value;
  if (lc && isObject(kwargs))
    return { type: Array.isArray(id) ? String(id.at(-1)) : '', ...kwargs };
  return isText(type) && isObject(inner) && 'content' in inner ? { ...inner, type } : value;
}

/** Creates a message with at least one piece. A message without content gets the piece `empty`. */
const makeMessage = (role: string, pieces: MessagePiece[]): ChatMessage => ({
  role,
  pieces: pieces.length > 0 ? pieces : [{ kind: 'data', name: '', text: 'empty' }],
});

function memberPieces(message: ChatObject): MessagePiece[] {
  const more = isObject(message['additional_kwargs']) ? message['additional_kwargs'] : {};
  const found: MessagePiece[] = [];
  for (const name of MEMBERS) {
    const value = isEmpty(message[name]) ? more[name] : message[name];
    // Some clients repeat the same content in two members.
    const isKnown = ({ kind, text }: MessagePiece) =>
      found.some((one) => one.kind === kind && one.text === text);
    found.push(...readPieces(value, name).filter((piece) => !isKnown(piece)));
  }
  if (found.some(({ text }) => text.trim() !== '')) return found;
  const { role: _, ...rest } = message;
  const others = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isVoid(value)));
  return Object.keys(others).length > 0 ? [dataPiece('', others)] : [];
}
