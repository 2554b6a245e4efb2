import type { Engine } from '../../platform/config/gateway-settings.js';
import { invalidRequest } from '../../platform/errors.js';
import { isObject } from '../../platform/json/json-object.js';
import { Cursor } from '../../platform/json/json-grammar.js';
import { memberTexts, objectText, type TextRange } from '../../platform/json/json-text.js';

/*
 * Requests for models keep their bytes. The gateway replaces the name of the model and adds members; nothing else
 * changes.
 */

export type JsonObject = Record<string, unknown>;

export type GatewayApi = 'chat/completions' | 'completions' | 'responses';

/** Members that the gateway adds to a request, as JSON texts by name. */
export interface AddedMembers {
  members: Map<string, string>;
  /** True when the client did not request the usage chunk of a stream. The chunk is then removed. */
  hidesUsage: boolean;
}

/** Members that may hold secrets of other services. They are not recorded. */
const SECRETS = ['api_key', 'extra_headers', 'vertex_credentials'];

/** Members that may select another model than `model`: a LoRA in SGLang, fallback models in OpenRouter and LiteLLM. */
const OTHER_MODELS = ['lora_path', 'models', 'fallbacks'];
/** Members that the gateway itself depends on. Some providers ignore the case of member names. */
const DECIDING = ['model', 'stream', 'stream_options'];

/**
 * Refuses members by which a provider might use another model, or another stream mode, than the gateway assumes.
 * @throws ApiError `invalid_request`
 */
export function assertOneModel(body: JsonObject): void {
  for (const name of Object.keys(body)) {
    const folded = name.toUpperCase().toLowerCase(); // Go reads the long s (U+017F) as an s
    const isOther = DECIDING.includes(folded) && name !== folded;
    if (!isOther && !OTHER_MODELS.includes(folded)) continue;
    const message = 'is not passed on: a provider might take another model by it';
    throw invalidRequest([{ path: name, message }]);
  }
}

/**
 * Returns the text range of each member of the request. A repeated name is refused, because a provider might read the
 * other value.
 * @throws ApiError `invalid_request`
 */
export function requestSpans(text: string): Map<string, TextRange> {
  const spans = new Map<string, TextRange>();
  const cursor = new Cursor(text, 0);
  while (cursor.next()) {
    const name = cursor.key!;
    if (spans.has(name))
      throw invalidRequest([{ path: name.slice(0, 64), message: 'comes twice in the body' }]);
    spans.set(name, [cursor.at, cursor.skip(1)]);
  }
  return spans;
}

/**
 * Returns the members that make the record complete: the usage of a stream and, if the engine supports them, logprobs
 * and token ids. Members that the client sent are kept. SGLang refuses token ids in streams of chat completions.
 */
export function addedMembers(body: JsonObject, asked: MembersContext): AddedMembers {
  if (asked.api === 'responses') return { members: new Map(), hidesUsage: false }; // they always report usage
  return addedToCompletion(body, asked);
}

interface MembersContext {
  engine: Engine;
  api: GatewayApi;
  text: string;
}

function addedToCompletion(body: JsonObject, { engine, api, text }: MembersContext): AddedMembers {
  const members = new Map<string, string>();
  const isStream = body['stream'] === true;
  const isMissing = (name: string) => body[name] === undefined || body[name] === null;
  let hidesUsage = false;
  if (isStream) {
    const options = body['stream_options'];
    const isAsked = isObject(options) && options['include_usage'] === true;
    hidesUsage = !isAsked;
    if (!isAsked) {
      const given = isObject(options)
        ? memberTexts(text.slice(...requestSpans(text).get('stream_options')!))
        : new Map<string, string>();
      members.set('stream_options', objectText(given.set('include_usage', 'true')));
    }
  }
  if (engine === 'openai') return { members, hidesUsage };
  if (isMissing('logprobs')) members.set('logprobs', api === 'completions' ? '1' : 'true');
  const mayTellIds = engine === 'vllm' || !isStream || api === 'completions';
  if (mayTellIds && isMissing('return_token_ids')) members.set('return_token_ids', 'true');
  return { members, hidesUsage };
}

/** Replaces members in the text of the request. Members that it does not have are added at its end. */
export function withMembers(text: string, members: ReadonlyMap<string, string>): string {
  const spans = requestSpans(text);
  const replaced = [...members].filter(([name]) => spans.has(name));
  const parts: string[] = [];
  let at = 0;
  for (const [name, value] of replaced.toSorted(
    ([a], [b]) => spans.get(a)![0] - spans.get(b)![0],
  )) {
    const [start, end] = spans.get(name)!;
    parts.push(text.slice(at, start), value);
    at = end;
  }
  const close = text.lastIndexOf('}');
  parts.push(text.slice(at, close));
  for (const [name, value] of members)
    if (!spans.has(name)) parts.push(`,${JSON.stringify(name)}:${value}`);
  parts.push(text.slice(close));
  return parts.join('');
}

export function recordedInputs(text: string, body: JsonObject): string {
  if (!SECRETS.some((name) => Object.hasOwn(body, name))) return text;
  return objectText([...memberTexts(text)].filter(([name]) => !SECRETS.includes(name)));
}
