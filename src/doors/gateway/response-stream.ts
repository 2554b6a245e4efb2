import { isObject } from '../../platform/json/is-object.js';
import { memberTexts, objectText } from '../../platform/json/json-text.js';
import { payloads } from './passages.js';
import { errorMessage, type Output, parsed, type StreamReader } from './recording.js';

/* Streams of OpenAI's responses: events of a type each, of which the last one has the whole response. */

type Json = Record<string, unknown>;

/** Types of the event that ends a stream. */
const LAST_TYPES = ['response.completed', 'response.incomplete', 'response.failed'];
/** Members of an event that are added to a text: what has begun of an item is kept where the stream breaks off. */
const TEXT = 'response.output_text.delta';
const ARGUMENTS = 'response.function_call_arguments.delta';

interface Item {
  text: string;
  isDone: boolean;
  deltas: string[];
}

/** The response of a stream as it came: that of its last event, or if it broke off what there was of it. */
export class ResponseReading implements StreamReader {
  add(): void {
    // the last event says it all
  }

  end(bytes: Buffer): Output {
    const events = payloads(bytes.toString('utf8')).filter((event) => event !== '[DONE]');
    const last = events.findLast((event) => LAST_TYPES.some((type) => event.includes(type)));
    const value = last === undefined ? undefined : parsed(last);
    if (
      isObject(value) &&
      LAST_TYPES.includes(String(value['type'])) &&
      isObject(value['response'])
    ) {
      const { response } = value;
      return {
        text: memberTexts(last!).get('response')!,
        value: response,
        error: errorOf(response),
        unread: 0,
      };
    }
    return partOf(events);
  }
}

/** Why a response failed. */
const errorOf = (response: Json) =>
  isObject(response['error']) ? (errorMessage(response) ?? 'the provider answered an error') : null;

function partOf(events: readonly string[]): Output {
  let base = '{}';
  let [error, unread]: [string | null, number] = [null, 0];
  const items = new Map<unknown, Item>();
  for (const event of events) {
    const value = parsed(event);
    if (!isObject(value) || typeof value['type'] !== 'string') {
      unread++;
      continue;
    }
    const { type, output_index: index, delta } = value;
    if (type === 'error') error = errorMessage(value) ?? 'the provider answered an error';
    else if (isObject(value['response'])) base = memberTexts(event).get('response')!;
    else if (isObject(value['item']))
      items.set(index, {
        text: memberTexts(event).get('item')!,
        isDone: type === 'response.output_item.done',
        deltas: [],
      });
    else if ((type === TEXT || type === ARGUMENTS) && typeof delta === 'string')
      items.get(index)?.deltas.push(delta);
  }
  const output = `[${Array.from(items.values(), itemText).join(',')}]`;
  const text = objectText(memberTexts(base).set('output', output));
  return { text, value: parsed(text), error, unread };
}

/** An item as far as it came. */
function itemText({ text, isDone, deltas }: Item): string {
  if (isDone || deltas.length === 0) return text;
  const said = JSON.stringify(deltas.join(''));
  const members = memberTexts(text);
  if (members.get('type') === '"function_call"') members.set('arguments', said);
  else members.set('content', `[{"type":"output_text","text":${said},"annotations":[]}]`);
  return objectText(members);
}
