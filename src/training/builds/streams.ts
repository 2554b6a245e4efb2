import { isObject } from '../../platform/json/is-object.js';
import { objectText, textsIn } from '../../platform/json/json-text.js';

/*
 * Answers that were recorded as streams: chunks of `choices[].delta`, in a list, or merged into one object. Texts that
 * were sampled are joined, and logprobs and token ids are copied as they were stored.
 */

type Json = Record<string, unknown>;

/** A choice, as far as its chunks have come. */
interface Streamed {
  message: Map<'content' | 'reasoning_content' | 'reasoning' | 'refusal', string[]>;
  toolCalls: Map<number, { id: string; name: string; args: string[] }>;
  finishReason: string | null;
  logprobs: string[];
  tokenIds: string[];
}

/** A tool call of a higher index is not one that a model makes. */
const MAX_INDEX = 1000;
const TEXTS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;
/** Members of an answer that the first, or the last, chunk has. */
const FIRST = ['model', 'prompt_token_ids'];
const LAST = ['usage'];

const CHUNK = {
  model: true,
  prompt_token_ids: true,
  usage: true,
  choices: [{ logprobs: { content: [true] }, token_ids: [true] }],
} as const;

/** The answer as it would be without the stream, as JSON text; null where the output is no stream. */
export function assembled(output: unknown, json: string): string | null {
  const isList = Array.isArray(output);
  const chunks = isList ? output : [output];
  if (!chunks.every(isChunk) || !chunks.some(hasDelta)) return null;
  const texts = isList ? (textsIn(json, [CHUNK]) ?? []) : [textsIn(json, CHUNK)];
  if (!texts.every(isObject)) return null;
  const members = new Map<string, string>();
  const choices = new Map<number, Streamed>();
  for (const [i, chunk] of chunks.entries()) {
    const text = texts[i] as ChunkTexts;
    addMembers(members, chunk, text);
    for (const [k, choice] of (chunk['choices'] as Json[]).entries())
      addChunk(streamedAt(choices, choice['index']), choice, text.choices[k]!);
  }
  const inOrder = [...choices].toSorted(([a], [b]) => a - b);
  const listed = inOrder.map(([index, choice]) => choiceJson(index, choice));
  members.set('choices', `[${listed.join(',')}]`);
  return objectText(members);
}

type ChunkTexts = Record<string, string> & { choices: ChoiceTexts[] };

interface ChoiceTexts {
  logprobs?: { content?: string[] };
  token_ids?: string[];
}

const isChunk = (chunk: unknown): chunk is Json =>
  isObject(chunk) && Array.isArray(chunk['choices']) && chunk['choices'].every(isObject);

const hasDelta = (chunk: Json) =>
  (chunk['choices'] as Json[]).some(({ delta, message }) => isObject(delta) && !isObject(message));

function addMembers(members: Map<string, string>, chunk: Json, texts: ChunkTexts): void {
  const isGiven = (name: string) => chunk[name] !== null && chunk[name] !== undefined;
  for (const name of FIRST)
    if (isGiven(name) && !members.has(name)) members.set(name, texts[name]!);
  for (const name of LAST) if (isGiven(name)) members.set(name, texts[name]!);
}

function streamedAt(choices: Map<number, Streamed>, index: unknown): Streamed {
  const at = typeof index === 'number' ? index : 0;
  const found: Streamed = choices.get(at) ?? {
    message: new Map(),
    toolCalls: new Map(),
    finishReason: null,
    logprobs: [],
    tokenIds: [],
  };
  choices.set(at, found);
  return found;
}

function addChunk(found: Streamed, choice: Json, texts: ChoiceTexts): void {
  const { delta, finish_reason: reason } = choice;
  if (typeof reason === 'string') found.finishReason = reason;
  for (const text of texts.logprobs?.content ?? []) found.logprobs.push(text);
  for (const text of texts.token_ids ?? []) found.tokenIds.push(text);
  if (!isObject(delta)) return;
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
  if (index > MAX_INDEX) return;
  const found = toolCalls.get(index) ?? { id: '', name: '', args: [] };
  toolCalls.set(index, found);
  const called = isObject(call['function']) ? call['function'] : {};
  if (typeof call['id'] === 'string' && call['id'] !== '') found.id = call['id'];
  if (typeof called['name'] === 'string') found.name ||= called['name'];
  if (typeof called['arguments'] === 'string') found.args.push(called['arguments']);
}

function choiceJson(index: number, choice: Streamed): string {
  const { message, toolCalls, finishReason, logprobs, tokenIds } = choice;
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
  return `{${[
    `"index":${index}`,
    `"finish_reason":${JSON.stringify(finishReason)}`,
    `"message":${JSON.stringify(told)}`,
    `"logprobs":${logprobs.length > 0 ? `{"content":[${logprobs.join(',')}]}` : 'null'}`,
    ...(tokenIds.length > 0 ? [`"token_ids":[${tokenIds.join(',')}]`] : []),
  ].join(',')}}`;
}
