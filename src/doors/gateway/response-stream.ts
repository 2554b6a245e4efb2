import { isObject } from '../../platform/json/is-object.js';
import { memberTexts, objectText } from '../../platform/json/json-text.js';
import type { Hold } from '../../platform/http/body-budget.js';
import { Turn } from '../../platform/time/turn.js';
import { payloads } from './passages.js';
import {
  errorMessage,
  MAX_UNREAD,
  type Output,
  parsed,
  type StreamReader,
  valueIn,
} from './recording.js';

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

  async end(bytes: Buffer, hold: Hold): Promise<Output> {
    const turn = new Turn();
    const events: string[] = [];
    for (const event of payloads(bytes.toString('utf8'))) {
      if (turn.isOver) await turn.next();
      if (event !== null && event !== '' && event !== '[DONE]') events.push(event);
    }
    const last = events.findLast((event) => LAST_TYPES.some((type) => event.includes(type)));
    const value = last === undefined ? undefined : await valueIn(last, hold).catch(() => undefined);
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
        chunks: events.length,
      };
    }
    return partOf(events, hold);
  }
}

/** Why a response failed. */
const errorOf = (response: Json) =>
  isObject(response['error']) ? (errorMessage(response) ?? 'the provider answered an error') : null;

async function partOf(events: readonly string[], hold: Hold): Promise<Output> {
  const turn = new Turn();
  const parts = new Parts();
  for (const event of events) {
    if (turn.isOver) await turn.next();
    if (parts.unread === MAX_UNREAD) break;
    parts.add(event);
  }
  const { text, error, unread } = parts;
  const value = await valueIn(text, hold).catch(() => undefined);
  return { text, value, error, unread, chunks: events.length };
}

/** What the events of a response that broke off have said. */
class Parts {
  error: string | null = null;
  unread = 0;
  private base = '{}';
  private readonly items = new Map<unknown, Item>();

  add(event: string): void {
    const value = parsed(event);
    if (!isObject(value) || typeof value['type'] !== 'string') this.unread++;
    else if (value['type'] === 'error')
      this.error = errorMessage(value) ?? 'the provider answered an error';
    else if (isObject(value['response'])) this.base = memberTexts(event).get('response')!;
    else this.addItem(event, value);
  }

  get text(): string {
    const output = `[${Array.from(this.items.values(), itemText).join(',')}]`;
    return objectText(memberTexts(this.base).set('output', output));
  }

  private addItem(event: string, { type, item, output_index: index, delta }: Json): void {
    if (isObject(item))
      this.items.set(index, {
        text: memberTexts(event).get('item')!,
        isDone: type === 'response.output_item.done',
        deltas: [],
      });
    else if ((type === TEXT || type === ARGUMENTS) && typeof delta === 'string')
      this.items.get(index)?.deltas.push(delta);
  }
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
