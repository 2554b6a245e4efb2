import { isObject } from '../platform/json/is-object.js';
import { objectText, textsIn } from '../platform/json/json-text.js';

/*
 * Answers that came as streams: chunks of `choices[].delta`, or of `choices[].text`. Texts that were sampled are joined,
 * and logprobs and token ids are copied as they are spelled.
 */

type Json = Record<string, unknown>;

/** A choice, as far as its chunks have come. */
interface Streamed {
  message: Map<(typeof TEXTS)[number], string[]>;
  toolCalls: Map<number, { id: string; name: string; args: string[] }>;
  /** Of completions without messages. */
  text: string[] | null;
  finishReason: string | null;
  logprobs: string[];
  /** Lists of completions without messages, by name. */
  oldLogprobs: Map<string, string[]>;
  tokenIds: string[];
  /** Members that a chunk has as a whole. */
  members: Map<string, string>;
}

/** A choice of a higher index is not one that a model makes, nor is such a tool call: each takes memory. */
const MAX_CHOICE = 1000;
const MAX_TOOL_CALL = 127;
const isIndex = (value: unknown, max: number): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
const TEXTS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;
/** Members of an answer that the first, or the last, chunk has. */
const FIRST = ['id', 'created', 'model', 'system_fingerprint', 'service_tier', 'prompt_token_ids'];
const LAST = ['usage'];
/** What engines say of a choice as a whole. */
const OF_CHOICE = ['prompt_token_ids', 'stop_reason', 'matched_stop'];
const OLD_LOGPROBS = ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'];

const named = <const Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, true])) as Record<Name, true>;

const CHUNK = {
  ...named([...FIRST, ...LAST]),
  choices: [
    {
      logprobs: {
        content: [true],
        ...Object.fromEntries(OLD_LOGPROBS.map((name) => [name, [true]] as const)),
      },
      token_ids: [true],
      ...named(OF_CHOICE),
    },
  ],
} as const;

/** The recorded output of a stream as it would be without the stream, as JSON text; null where the output is no stream. */
export function assembled(output: unknown, json: string): string | null {
  const isList = Array.isArray(output);
  const chunks = isList ? output : [output];
  if (!chunks.every(isChunk) || !chunks.some(hasDelta)) return null;
  const texts = isList ? (textsIn(json, [CHUNK]) ?? []) : [textsIn(json, CHUNK)];
  if (!texts.every(isObject)) return null;
  const assembly = new StreamAssembly();
  for (const [i, chunk] of chunks.entries()) assembly.addRead(chunk, texts[i] as ChunkTexts);
  return assembly.json();
}

type ChunkTexts = Record<string, string> & { choices: ChoiceTexts[] };

type ChoiceTexts = Record<string, string> & {
  logprobs?: Record<string, string[]>;
  token_ids?: string[];
};

const isChunk = (chunk: unknown): chunk is Json =>
  isObject(chunk) && Array.isArray(chunk['choices']) && chunk['choices'].every(isObject);

const hasDelta = (chunk: Json) =>
  (chunk['choices'] as Json[]).some(({ delta, message }) => isObject(delta) && !isObject(message));

/** Puts an answer together from its chunks, one after the other. */
export class StreamAssembly {
  private readonly members = new Map<string, string>();
  private readonly choices = new Map<number, Streamed>();
  /** How many chunks it has. */
  count = 0;

  /** Adds a chunk. Answers whether it was one. */
  add(chunk: unknown, json: string): boolean {
    if (!isChunk(chunk)) return false;
    const texts = textsIn(json, CHUNK);
    if (!isObject(texts)) return false;
    this.addRead(chunk, texts as ChunkTexts);
    return true;
  }

  addRead(chunk: Json, texts: ChunkTexts): void {
    this.count++;
    addMembers(this.members, chunk, texts);
    for (const [k, choice] of (chunk['choices'] as Json[]).entries()) {
      const found = this.choiceAt(choice['index']);
      if (found) addChunk(found, choice, texts.choices[k]!);
    }
  }

  /** The answer as JSON text. */
  json(): string {
    const inOrder = [...this.choices].toSorted(([a], [b]) => a - b);
    const listed = inOrder.map(([index, choice]) => choiceJson(index, choice));
    return objectText(new Map([...this.members, ['choices', `[${listed.join(',')}]`]]));
  }

  private choiceAt(index: unknown): Streamed | undefined {
    const at = typeof index === 'number' ? index : 0;
    if (!isIndex(at, MAX_CHOICE)) return undefined;
    const found: Streamed = this.choices.get(at) ?? {
      message: new Map(),
      toolCalls: new Map(),
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

const isGiven = (object: Json, name: string) => object[name] !== null && object[name] !== undefined;

function addMembers(members: Map<string, string>, chunk: Json, texts: ChunkTexts): void {
  for (const name of FIRST)
    if (isGiven(chunk, name) && !members.has(name)) members.set(name, texts[name]!);
  for (const name of LAST) if (isGiven(chunk, name)) members.set(name, texts[name]!);
}

function addChunk(found: Streamed, choice: Json, texts: ChoiceTexts): void {
  const { delta, text, finish_reason: reason } = choice;
  if (typeof reason === 'string') found.finishReason = reason;
  addTokens(found, texts);
  for (const name of OF_CHOICE) if (isGiven(choice, name)) found.members.set(name, texts[name]!);
  if (typeof text === 'string') (found.text ??= []).push(text);
  if (isObject(delta)) addDelta(found, delta);
}

function addTokens(found: Streamed, { logprobs = {}, token_ids: ids = [] }: ChoiceTexts): void {
  for (const each of logprobs['content'] ?? []) found.logprobs.push(each);
  for (const name of OLD_LOGPROBS) {
    const list = logprobs[name];
    if (!list) continue;
    const known = found.oldLogprobs.get(name) ?? [];
    found.oldLogprobs.set(name, known);
    for (const each of list) known.push(each);
  }
  for (const each of ids) found.tokenIds.push(each);
}

function addDelta(found: Streamed, delta: Json): void {
  for (const name of TEXTS) if (typeof delta[name] === 'string') addText(found, name, delta[name]);
  if (Array.isArray(delta['tool_calls']))
    for (const [i, call] of delta['tool_calls'].entries()) addToolCall(found, call, i);
}

function addText({ message }: Streamed, name: (typeof TEXTS)[number], text: string): void {
  const parts = message.get(name);
  if (parts) parts.push(text);
  else message.set(name, [text]);
}

/** The first chunk of a tool call has its id and name, each one a piece of its arguments. */
function addToolCall({ toolCalls }: Streamed, call: unknown, i: number): void {
  if (!isObject(call)) return;
  const index = typeof call['index'] === 'number' ? call['index'] : i;
  if (!isIndex(index, MAX_TOOL_CALL)) return;
  const found = toolCalls.get(index) ?? { id: '', name: '', args: [] };
  toolCalls.set(index, found);
  const called = isObject(call['function']) ? call['function'] : {};
  if (typeof call['id'] === 'string' && call['id'] !== '') found.id = call['id'];
  if (typeof called['name'] === 'string') found.name ||= called['name'];
  if (typeof called['arguments'] === 'string') found.args.push(called['arguments']);
}

function choiceJson(index: number, choice: Streamed): string {
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

function logprobsJson({ logprobs, oldLogprobs }: Streamed): string {
  if (logprobs.length > 0) return `{"content":[${logprobs.join(',')}]}`;
  if (oldLogprobs.size === 0) return 'null';
  const lists = Array.from(oldLogprobs, ([name, list]) => `"${name}":[${list.join(',')}]`);
  return `{${lists.join(',')}}`;
}

function messageJson({ message, toolCalls }: Streamed): string {
  const calls = [...toolCalls].toSorted(([a], [b]) => a - b);
  const content = message.get('content');
  const told = {
    role: 'assistant',
    content: content && (content.length > 1 || content[0] !== '') ? content.join('') : null,
    ...Object.fromEntries(
      [...message].flatMap(([name, parts]) =>
        name === 'content' || parts.every((part) => part === '') ? [] : [[name, parts.join('')]],
      ),
    ),
    ...(calls.length > 0 && {
      tool_calls: calls.map(([, { id, name, args }]) => ({
        id,
        type: 'function',
        function: { name, arguments: args.join('') },
      })),
    }),
  };
  if (told.content === null && calls.length === 0) told.content = '';
  if (told.content === '' && calls.length > 0) told.content = null;
  return JSON.stringify(told);
}
