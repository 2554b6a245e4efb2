import { invalidRequest } from '../../platform/errors.js';
import { Cursor } from '../../platform/json/json-grammar.js';
import { memberTexts, objectText, type TextRange } from '../../platform/json/json-text.js';

/*
 * Requests for models keep their bytes. The gateway replaces the name of the model and adds members; nothing else
 * changes.
 */

export type JsonObject = Record<string, unknown>;

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
    const message = 'is not allowed: a provider might use it to take another model';
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
      throw invalidRequest([{ path: name.slice(0, 64), message: 'appears twice in the body' }]);
    spans.set(name, [cursor.at, cursor.skip(1)]);
  }
  return spans;
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
