import { isObject } from '../../../../platform/json/json-object.js';
import { memberTexts, objectText } from '../../../../platform/json/json-text.js';
import type { BodyReservation } from '../../../../platform/http/body-budget.js';
import { EventLoopTurn } from '../../../../platform/time/event-loop-turn.js';
import { eventPayloads } from '../../relaying/event-stream.js';
import {
  errorMessage,
  MAX_UNREAD,
  type RecordedAnswer,
  parseOrUndefined,
  type StreamReader,
  parseWithBudget,
} from '../../recording/recorded-answer.js';

/* Reads streams of OpenAI's Responses API. Events have a type, and the last one holds the whole response. */

type Json = Record<string, unknown>;

const LAST_TYPES = ['response.completed', 'response.incomplete', 'response.failed'];
/** Events that append to an item. With them, a stream that breaks off is recorded as far as it came. */
const TEXT = 'response.output_text.delta';
const ARGUMENTS = 'response.function_call_arguments.delta';
const INPUT = 'response.custom_tool_call_input.delta';

interface OutputItem {
  text: string;
  isDone: boolean;
  deltas: string[];
}

/**
 * Reads the response of a stream from its last event. If the stream broke off, the response is assembled from the
 * events that arrived. A last event without items gets the items of earlier events: ChatGPT answers Codex this way
 * (https://github.com/BerriAI/litellm/pull/32724).
 */
export class ResponseStreamReader implements StreamReader {
  add(): void {
    // nothing to do yet: the last event holds the whole response
  }

  async end(bytes: Buffer, memory: BodyReservation): Promise<RecordedAnswer> {
    const turn = new EventLoopTurn();
    const events: string[] = [];
    for (const event of eventPayloads(bytes.toString('utf8'))) {
      if (turn.isOver) await turn.next();
      if (event !== null && event !== '' && event !== '[DONE]') events.push(event);
    }
    const last = events.findLast((event) => LAST_TYPES.some((type) => event.includes(type)));
    const response = last === undefined ? null : await responseIn(last, memory);
    if (!response) return partOf(events, memory);
    const error = errorOf(response);
    const whole = isEmpty(response) ? await partOf(events, memory) : null;
    if (isObject(whole?.value) && !isEmpty(whole.value)) return { ...whole, error };
    const text = memberTexts(last!).get('response')!;
    return { text, value: response, error, unread: 0, chunks: events.length };
  }
}

async function responseIn(event: string, memory: BodyReservation): Promise<Json | null> {
  const value = await parseWithBudget(event, memory).catch(() => undefined);
  if (!isObject(value) || !LAST_TYPES.includes(String(value['type']))) return null;
  return isObject(value['response']) ? value['response'] : null;
}

const isEmpty = ({ output }: Json) => Array.isArray(output) && output.length === 0;

const errorOf = (response: Json) =>
  isObject(response['error']) ? (errorMessage(response) ?? 'the provider answered an error') : null;

async function partOf(events: readonly string[], memory: BodyReservation): Promise<RecordedAnswer> {
  const turn = new EventLoopTurn();
  const parts = new PartialResponse();
  for (const event of events) {
    if (turn.isOver) await turn.next();
    if (parts.unread === MAX_UNREAD) break;
    parts.add(event);
  }
  const { text, error, unread } = parts;
  const value = await parseWithBudget(text, memory).catch(() => undefined);
  return { text, value, error, unread, chunks: events.length };
}

/** Assembles a response from the events of a stream that broke off. */
class PartialResponse {
  error: string | null = null;
  unread = 0;
  private base = '{}';
  private readonly items: OutputItem[] = [];
  /** Items keyed by index and id; `last` is keyed by index alone. */
  private readonly byId = new Map<string, OutputItem>();
  private readonly last = new Map<unknown, OutputItem>();

  add(event: string): void {
    const value = parseOrUndefined(event);
    if (!isObject(value) || typeof value['type'] !== 'string') this.unread++;
    else if (value['type'] === 'error')
      this.error = errorMessage(value) ?? 'the provider answered an error';
    else if (isObject(value['response'])) this.base = memberTexts(event).get('response')!;
    else this.addItem(event, value);
  }

  get text(): string {
    const output = `[${this.items.map(itemText).join(',')}]`;
    return objectText(memberTexts(this.base).set('output', output));
  }

  /**
   * Servers that translate other APIs may send one index for all items, or change the id of an item when it is done.
   */
  private addItem(event: string, value: Json): void {
    const { type, item, item_id, output_index: index, delta } = value;
    if (isObject(item)) {
      const isDone = type === 'response.output_item.done';
      const text = memberTexts(event).get('item')!;
      this.putItem({ text, isDone, deltas: [] }, index, item['id']);
    } else if ((type === TEXT || type === ARGUMENTS || type === INPUT) && typeof delta === 'string')
      (this.byId.get(itemKey(index, item_id)) ?? this.openItem(index))?.deltas.push(delta);
  }

  private putItem(item: OutputItem, index: unknown, id: unknown): void {
    const key = itemKey(index, id);
    const known = this.byId.get(key) ?? (item.isDone ? this.openItem(index) : undefined);
    const found = known ?? item;
    if (known) Object.assign(known, { text: item.text, isDone: item.isDone });
    else this.items.push(item);
    this.last.set(index, found);
    if (typeof id === 'string') this.byId.set(key, found);
  }

  private openItem(index: unknown): OutputItem | undefined {
    const item = this.last.get(index);
    return item?.isDone ? undefined : item;
  }
}

const itemKey = (index: unknown, id: unknown) => JSON.stringify([index, id]);

function itemText({ text, isDone, deltas }: OutputItem): string {
  if (isDone || deltas.length === 0) return text;
  const said = JSON.stringify(deltas.join(''));
  const members = memberTexts(text);
  if (members.get('type') === '"function_call"') members.set('arguments', said);
  else if (members.get('type') === '"custom_tool_call"') members.set('input', said);
  else members.set('content', `[{"type":"output_text","text":${said},"annotations":[]}]`);
  return objectText(members);
}
