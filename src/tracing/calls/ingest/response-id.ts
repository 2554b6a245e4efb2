import { isObject } from '../../../platform/json/json-object.js';

/**
 * An id that a door has made begins so: of what two records of one request have in common, or of a call that adds up what others say. It
 * names no response, and outputs cannot say it.
 */
export const MADE_ID_PREFIX = '~';

/** The id of a call that tells no id, and of whose request a call beside it may tell too: the calls of one parent are found by it. */
export const idOfTwin = (parentId: string, callId: string): string =>
  `${TWIN_ID_PREFIX}${parentId}/${callId}`;
export const TWIN_ID_PREFIX = `${MADE_ID_PREFIX}twin/`;

/** The id of a call whose usage, with 0 requests, adds up what others say. */
export const idOfSum = (callId: string): string => `${MADE_ID_PREFIX}sum/${callId}`;

/** Ids of all providers; others are not looked up. */
const IS_RESPONSE_ID = /^[!-}][!-~]{0,255}$/;
const IS_MADE_ID = /^~[!-~]{1,255}$/;

/**
 * Ids that only a response has, wherever they stand: OpenAI's and of those who speak like it, Anthropic's and OpenRouter's. Members called
 * `id` hold many other things: LangChain's message has the id of its run (`run--…`), its constructor the path of a class.
 */
const IS_PROVIDERS = /^(?:chatcmpl|cmpl|resp|msg|gen)[-_]/;

/** Objects that tell of the response as a whole, so that any `id` in them is its id. */
const RESPONSE_MEMBERS = new Set(['response_metadata', 'generation_info', 'llm_output']);

/**
 * Members below which the id of a response stands, in the order in which they are looked at: of LangChain 1.0 (`AIMessage`, as its
 * `dumpd` writes it below `kwargs`, `LLMResult` with `generations`), and of those who wrap an answer.
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

/** The provider's id of the response that an output is or holds. */
export function responseIdOf(output: unknown): string | null {
  const id = idIn(output, 0);
  return id !== undefined && IS_RESPONSE_ID.test(id) ? id : null;
}

/** The id that a door gives, if it can be stored. */
export const storableResponseId = (id: string): string | null =>
  IS_RESPONSE_ID.test(id) || IS_MADE_ID.test(id) ? id : null;

function idIn(value: unknown, depth: number, isResponse = false): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  // the last message is the answer; of several generations each tells of the same response
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

/** The `id` of an object that is a response, or that is spelled as providers spell theirs. */
function ownId({ id, usage }: Record<string, unknown>, isResponse: boolean): string | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  return isResponse || isObject(usage) || IS_PROVIDERS.test(id) ? id : undefined;
}
