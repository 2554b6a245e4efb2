import { isObject } from '../../platform/json/json-object.js';

/**
 * Prefix of ids that a door has made: for two records of one request, or for a call that sums up the usage of others.
 * These ids name no response of a provider, and cannot come from an output.
 */
export const MADE_ID_PREFIX = '~';

/**
 * Makes the id of a call that reports no response id, if a sibling call may report the same request. It begins with the
 * parent's id, so that such calls of one parent are found.
 */
export const idOfTwin = (parentId: string, callId: string): string =>
  `${TWIN_ID_PREFIX}${parentId}/${callId}`;
export const TWIN_ID_PREFIX = `${MADE_ID_PREFIX}twin/`;

/** Makes the id of a call whose usage, with 0 requests, sums up the usage of other calls. */
export const idOfSum = (callId: string): string => `${MADE_ID_PREFIX}sum/${callId}`;

/** Ids that are looked up. The ids of all providers match. */
const IS_RESPONSE_ID = /^[!-}][!-~]{0,255}$/;
const IS_MADE_ID = /^~[!-~]{1,255}$/;

/**
 * Ids that only a response has, wherever they occur: those of OpenAI and compatible APIs, of Anthropic and of
 * OpenRouter. Many other values are called `id`. For example, LangChain's message has the id of its run (`run--…`), and
 * its constructor has the path of a class.
 */
const IS_PROVIDERS = /^(?:chatcmpl|cmpl|resp|msg|gen)[-_]/;

/** Objects that describe the response as a whole, so that their `id` is the id of the response. */
const RESPONSE_MEMBERS = new Set(['response_metadata', 'generation_info', 'llm_output']);

/**
 * Members that may contain the id of a response, in the order of the search. They come from LangChain 1.0 and from
 * clients that wrap an answer. LangChain has `AIMessage`, which its `dumpd` writes below `kwargs`, and `LLMResult` with
 * `generations`.
 */
const WRAPPERS = [
  'response_metadata',
  'llm_output',
  'generation_info',
  'generations',
  'message',
  'kwargs',
  'response',
  'output',
  'outputs',
  'messages',
];
const MAX_DEPTH = 10;

/** Returns the provider's id of the response that the output is or contains. */
export function responseIdOf(output: unknown): string | null {
  const id = idIn(output, 0);
  return id !== undefined && IS_RESPONSE_ID.test(id) ? id : null;
}

export const storableResponseId = (id: string): string | null =>
  IS_RESPONSE_ID.test(id) || IS_MADE_ID.test(id) ? id : null;

function idIn(value: unknown, depth: number, isResponse = false): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  // the last message is the answer; several generations belong to the same response
  if (Array.isArray(value)) return idIn((value as unknown[]).at(-1), depth + 1);
  if (!isObject(value)) return undefined;
  const own = ownId(value, isResponse);
  if (own !== undefined) return own;
  for (const name of WRAPPERS) {
    if (!Object.hasOwn(value, name)) continue;
    const found = idIn(value[name], depth + 1, RESPONSE_MEMBERS.has(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the `id` of an object that is a response, or an `id` spelled as providers spell theirs. */
function ownId({ id, usage }: Record<string, unknown>, isResponse: boolean): string | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  return isResponse || isObject(usage) || IS_PROVIDERS.test(id) ? id : undefined;
}
