import { isObject } from '../platform/json/json-object.js';
import { Cursor, skipSpace } from '../platform/json/json-grammar.js';
import { objectText, textsIn } from '../platform/json/json-text.js';

/*
 * Assembles streamed answers: chunks of `choices[].delta` or of `choices[].text`. Sampled texts are joined. Logprobs
 * and token ids are copied as they are spelled.
 */

type ChunkObject = Record<string, unknown>;

interface StreamedChoice {
  message: Map<(typeof TEXTS)[number], string[]>;
  toolCalls: StreamedToolCall[];
  /** The `function_call` of models from before `tool_calls`. */
  functionCall: StreamedToolCall | null;
  /** Sampled text of the older completions API, which has no messages. */
  text: string[] | null;
  finishReason: string | null;
  logprobs: string[];
  /** Logprob lists of the older completions API, keyed by name. */
  oldLogprobs: Map<string, string[]>;
  tokenIds: string[];
  /** Members that arrive whole in one chunk. */
  members: Map<string, string>;
}

interface StreamedToolCall {
  /** Undefined if the provider does not number the calls. */
  index: number | undefined;
  id: string;
  name: string;
  /** The input of a custom tool is a text; the input of a function is JSON. */
  isCustom: boolean;
  args: string[];
  /** Progress of `isComplete` in the arguments. */
  read: { pieces: number; depth: number; isBegun: boolean; isText: boolean };
  /** Other members, for example Gemini's `extra_content` with the signature of a thought. */
  members: ChunkObject;
}

/** Limits of memory. No model makes a choice or a tool call with a higher index. */
const MAX_CHOICE = 1000;
const MAX_TOOL_CALL = 127;
const isIndex = (value: unknown, max: number): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
const TEXTS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;
/** Members of the answer that are taken from the first or from the last chunk that has them. */
const FIRST_CHUNK_MEMBERS = [
  'id',
  'created',
  'model',
  'system_fingerprint',
  'service_tier',
  'prompt_token_ids',
];
const LAST_CHUNK_MEMBERS = ['usage'];
/** Groq's streams repeat the usage in this member (https://console.groq.com/docs/api-reference#chat-create). */
const GROQ = 'x_groq';
/** Members that inference engines add to a choice. */
const CHOICE_MEMBERS = ['prompt_token_ids', 'stop_reason', 'matched_stop'];
const OLD_LOGPROBS = ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'];

const memberShape = <const Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, true])) as Record<Name, true>;

const CHUNK = {
  ...memberShape([...FIRST_CHUNK_MEMBERS, ...LAST_CHUNK_MEMBERS]),
  [GROQ]: memberShape(LAST_CHUNK_MEMBERS),
  choices: [
    {
      ...memberShape(['index', 'delta', 'text', 'finish_reason']),
      logprobs: memberShape(['content', ...OLD_LOGPROBS]),
      token_ids: true,
      ...memberShape(CHOICE_MEMBERS),
    },
  ],
} as const;

/**
 * Returns the recorded output of a stream as the same answer without streaming, as JSON text. Returns null if the
 * output is not a stream.
 */
export function assembleStream(output: unknown, json: string): string | null {
  const isList = Array.isArray(output);
  const chunks = isList ? output : [output];
  if (!chunks.every(isChunk) || !chunks.some(hasDelta)) return null;
  const texts = isList ? (textsIn(json, [CHUNK]) ?? []) : [textsIn(json, CHUNK)];
  const assembly = new StreamAssembly();
  return texts.every((found) => assembly.addRead(found)) ? assembly.json() : null;
}

type StreamChunkTexts = Record<string, string> & {
  choices: ChoiceTexts[];
  [GROQ]?: Record<string, string>;
};

type ChoiceTexts = Record<string, string> & { logprobs?: Record<string, string> };

const isChunk = (chunk: unknown): chunk is ChunkObject =>
  isObject(chunk) && Array.isArray(chunk['choices']) && chunk['choices'].every(isObject);

const hasDelta = (chunk: ChunkObject) =>
  (chunk['choices'] as ChunkObject[]).some(
    ({ delta, message }) => isObject(delta) && !isObject(message),
  );

/** Returns true if the texts are those of a chunk. A choice that is nested too deeply is an `Error`. */
const isRead = (texts: unknown): texts is StreamChunkTexts =>
  isObject(texts) &&
  Array.isArray(texts['choices']) &&
  texts['choices'].every((choice) => isObject(choice) && !(choice instanceof Error));

/**
 * Assembles an answer from its chunks, which are added in order. It does not check that chunks are JSON: the assembled
 * answer is JSON exactly if they were. A chunk with a token and its logprob takes 6 µs; `JSON.parse` of each chunk took
 * 9.5 µs.
 */
export class StreamAssembly {
  private readonly members = new Map<string, string>();
  private readonly choices = new Map<number, StreamedChoice>();
  /**
   * Text of the last chunk before its choices. The next chunk usually begins with the same text, which need not be
   * parsed again.
   */
  private head: string | null = null;

  /** Adds a chunk. Returns false if the text is not a chunk. */
  add(json: string): boolean {
    if (this.head !== null && json.startsWith(this.head))
      return this.addRead(textsIn(`{${json.slice(this.head.length)}`, CHUNK));
    this.head = headOf(json);
    return this.addRead(textsIn(json, CHUNK));
  }

  /** Adds a chunk whose texts were already read with `CHUNK`. Returns false if it is not a chunk. */
  addRead(texts: unknown): boolean {
    if (!isRead(texts)) return false;
    addMembers(this.members, texts);
    for (const choice of texts.choices) {
      const found = this.choiceAt(choice['index']);
      if (found) addChunk(found, choice);
    }
    return true;
  }

  json(): string {
    const inOrder = [...this.choices].toSorted(([a], [b]) => a - b);
    const listed = inOrder.map(([index, choice]) => choiceJson(index, choice));
    return objectText(new Map([...this.members, ['choices', `[${listed.join(',')}]`]]));
  }

  private choiceAt(index: string | undefined): StreamedChoice | undefined {
    const at = Number(index) || 0;
    if (!isIndex(at, MAX_CHOICE)) return undefined;
    const found: StreamedChoice = this.choices.get(at) ?? {
      message: new Map(),
      toolCalls: [],
      functionCall: null,
      text: null,
      finishReason: null,
      logprobs: [],
      oldLogprobs: new Map(),
      tokenIds: [],
      members: new Map(),
    };
    this.choices.set(at, found);
    return found;
  }
}

/** Returns the text before the member `choices`, or null if the chunk has no such member. */
function headOf(json: string): string | null {
  const cursor = new Cursor(json, 0);
  while (cursor.next()) {
    if (cursor.key === 'choices') return json.slice(0, cursor.keyAt);
    cursor.skip();
  }
  return null;
}

const isGiven = (text: string | undefined) => text !== undefined && text !== 'null';

function addMembers(members: Map<string, string>, texts: StreamChunkTexts): void {
  for (const name of FIRST_CHUNK_MEMBERS)
    if (isGiven(texts[name]) && !members.has(name)) members.set(name, texts[name]!);
  for (const name of LAST_CHUNK_MEMBERS)
    for (const text of [texts[GROQ]?.[name], texts[name]])
      if (isGiven(text)) members.set(name, text!);
}

function addChunk(found: StreamedChoice, texts: ChoiceTexts): void {
  const { delta, text, finish_reason: reason } = texts;
  if (isGiven(delta)) addDelta(found, JSON.parse(delta!));
  if (isString(reason)) found.finishReason = JSON.parse(reason) as string;
  if (isString(text)) (found.text ??= []).push(JSON.parse(text) as string);
  addTokens(found, texts);
  for (const name of CHOICE_MEMBERS)
    if (isGiven(texts[name])) found.members.set(name, texts[name]!);
}

const isString = (json: string | undefined): json is string => json?.startsWith('"') === true;

function addTokens(found: StreamedChoice, { logprobs, token_ids: ids }: ChoiceTexts): void {
  if (logprobs) {
    addElements(found.logprobs, logprobs['content']);
    for (const name of OLD_LOGPROBS) {
      if (logprobs[name] === undefined) continue;
      const known = found.oldLogprobs.get(name) ?? [];
      found.oldLogprobs.set(name, known);
      addElements(known, logprobs[name]);
    }
  }
  addElements(found.tokenIds, ids);
}

/** Adds the text between the brackets of a list. */
function addElements(texts: string[], list: string | undefined): void {
  if (list?.startsWith('[') !== true) return;
  const elements = list.slice(1, -1);
  if (skipSpace(elements, 0) < elements.length) texts.push(elements);
}

function addDelta(found: StreamedChoice, delta: unknown): void {
  if (!isObject(delta)) return;
  for (const name of TEXTS) if (typeof delta[name] === 'string') addText(found, name, delta[name]);
  const { tool_calls: calls, function_call: called } = delta;
  if (Array.isArray(calls))
    for (const [i, call] of calls.entries()) addToolCall(found.toolCalls, call, calls.length - i);
  if (isObject(called))
    addPiece((found.functionCall ??= newCall(0)), toolCallPiece({ function: called }));
}

function addText({ message }: StreamedChoice, name: (typeof TEXTS)[number], text: string): void {
  const parts = message.get(name);
  if (parts) parts.push(text);
  else message.set(name, [text]);
}

type ToolCallPiece = Omit<StreamedToolCall, 'args' | 'read'> & { args: string };

function toolCallPiece({
  index,
  id,
  type,
  function: called,
  custom,
  ...members
}: ChunkObject): ToolCallPiece {
  const isCustom = isObject(custom) || type === 'custom';
  const said = isCustom ? custom : called;
  const { name, arguments: args, input } = isObject(said) ? said : {};
  return {
    index: typeof index === 'number' ? index : undefined,
    id: typeof id === 'string' ? id : '',
    name: typeof name === 'string' ? name : '',
    isCustom,
    args: argumentsText(args ?? input),
    members,
  };
}

/** Some servers, for example Ollama's own API, send the arguments as an object. */
const argumentsText = (args: unknown): string =>
  typeof args === 'string' ? args : isObject(args) ? JSON.stringify(args) : '';

const newCall = (index: number | undefined): StreamedToolCall => ({
  index,
  id: '',
  name: '',
  isCustom: false,
  args: [],
  read: { pieces: 0, depth: 0, isBegun: false, isText: false },
  members: {},
});

/**
 * Adds a piece to its tool call, or begins a new call. `fromEnd` is the position of the piece in its chunk, counted
 * from the end; the last piece has 1.
 */
function addToolCall(calls: StreamedToolCall[], value: unknown, fromEnd: number): void {
  if (!isObject(value)) return;
  const piece = toolCallPiece(value);
  const { index } = piece;
  if (index !== undefined && !isIndex(index, MAX_TOOL_CALL)) return;
  let call = matchingCall(calls, piece, fromEnd);
  if (!call) {
    if (calls.length > MAX_TOOL_CALL) return;
    calls.push((call = newCall(index)));
  }
  addPiece(call, piece);
}

/**
 * Returns the call that a piece continues, or undefined if the piece begins a new call. A call begins with its name.
 * An index alone does not decide. Gemini (https://ai.google.dev/gemini-api/docs/openai, 2025) and Ollama before 0.6
 * give parallel calls the same index, or no index. An id alone does not decide either: vLLM before 0.8.5 makes up a new
 * id for each chunk (`DeltaToolCall`).
 */
function matchingCall(
  calls: readonly StreamedToolCall[],
  piece: ToolCallPiece,
  fromEnd: number,
): StreamedToolCall | undefined {
  const { index, id, name } = piece;
  const isAt = (call: StreamedToolCall) => index === undefined || call.index === index;
  if (id !== '') {
    const known = calls.findLast((call) => call.id === id && isAt(call));
    if (known) return known;
  }
  const isNumberless = index === undefined && id === '' && name === '';
  const last = isNumberless ? calls.at(-Math.min(fromEnd, calls.length)) : calls.findLast(isAt);
  return last && continuesCall(last, piece, calls.length) ? last : undefined;
}

/** Returns true if a piece belongs to the call, although it does not repeat the id of the call. */
function continuesCall(
  call: StreamedToolCall,
  { id, name, args }: ToolCallPiece,
  count: number,
): boolean {
  const hasOtherId = id !== '' && call.id !== '';
  if (hasOtherId) return name === '' && args !== '';
  if (name === '' || call.name === '') return true;
  const isOther = name !== call.name || count > MAX_TOOL_CALL;
  return !isOther && !(args !== '' && isComplete(call));
}

const SIGNS = /[{}[\]]|"|\\./g;

/**
 * Returns true if all arguments of a call have arrived. A later piece with a name is then a new call. Each piece is
 * read once.
 */
function isComplete({ args, read }: StreamedToolCall): boolean {
  for (; read.pieces < args.length; read.pieces++)
    for (const [sign] of args[read.pieces]!.matchAll(SIGNS))
      if (sign === '"') read.isText = !read.isText;
      else if (!read.isText && sign.length === 1) {
        read.depth += sign === '{' || sign === '[' ? 1 : -1;
        read.isBegun = true;
      }
  return read.isBegun && read.depth === 0 && !read.isText;
}

/** The first chunk of a call has its id and name. Each chunk has a piece of its arguments. */
function addPiece(
  call: StreamedToolCall,
  { id, name, isCustom, args, members }: ToolCallPiece,
): void {
  call.id ||= id;
  call.name ||= name;
  call.isCustom ||= isCustom;
  if (args !== '') call.args.push(args);
  Object.assign(call.members, members);
}

function choiceJson(index: number, choice: StreamedChoice): string {
  const { text, finishReason, tokenIds, members } = choice;
  return `{${[
    `"index":${index}`,
    `"finish_reason":${JSON.stringify(finishReason)}`,
    text === null ? `"message":${messageJson(choice)}` : `"text":${JSON.stringify(text.join(''))}`,
    `"logprobs":${logprobsJson(choice)}`,
    ...(tokenIds.length > 0 ? [`"token_ids":[${tokenIds.join(',')}]`] : []),
    ...Array.from(members, ([name, json]) => `"${name}":${json}`),
  ].join(',')}}`;
}

function logprobsJson({ logprobs, oldLogprobs }: StreamedChoice): string {
  if (logprobs.length > 0) return `{"content":[${logprobs.join(',')}]}`;
  if (oldLogprobs.size === 0) return 'null';
  const lists = Array.from(oldLogprobs, ([name, list]) => `"${name}":[${list.join(',')}]`);
  return `{${lists.join(',')}}`;
}

function messageJson({ message, toolCalls, functionCall }: StreamedChoice): string {
  const isNumbered = toolCalls.every(({ index }) => index !== undefined);
  const calls = isNumbered ? toolCalls.toSorted((a, b) => a.index! - b.index!) : toolCalls;
  const hasCalls = calls.length > 0 || functionCall !== null;
  const content = message.get('content');
  const told = {
    role: 'assistant',
    content: content && (content.length > 1 || content[0] !== '') ? content.join('') : null,
    ...Object.fromEntries(
      [...message].flatMap(([name, parts]) =>
        name === 'content' || parts.every((part) => part === '') ? [] : [[name, parts.join('')]],
      ),
    ),
    ...(calls.length > 0 && { tool_calls: calls.map(calledJson) }),
    ...(functionCall && {
      function_call: { name: functionCall.name, arguments: functionCall.args.join('') },
    }),
  };
  if (told.content === null && !hasCalls) told.content = '';
  if (told.content === '' && hasCalls) told.content = null;
  return JSON.stringify(told);
}

function calledJson({ id, name, isCustom, args, members }: StreamedToolCall): object {
  const said = args.join('');
  return {
    id,
    ...(isCustom
      ? { type: 'custom', custom: { name, input: said } }
      : { type: 'function', function: { name, arguments: said } }),
    ...members,
  };
}
