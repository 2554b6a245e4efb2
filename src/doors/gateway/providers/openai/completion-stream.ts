import type { BodyReservation } from '../../../../platform/http/body-budget.js';
import { isObject } from '../../../../platform/json/json-object.js';
import { memberTexts, objectText } from '../../../../platform/json/json-text.js';
import { EventLoopTurn } from '../../../../platform/time/event-loop-turn.js';
import { StreamAssembly } from '../../../../tracing/stream-assembly.js';
import {
  errorMessage,
  MAX_UNREAD,
  parseOrUndefined,
  parseWithBudget,
  type RecordedAnswer,
  type StreamReader,
} from '../../recording/recorded-answer.js';
import { EventBuffer, eventData, eventPayloads } from '../../relaying/event-stream.js';

/**
 * Assembles a streamed completion into the answer that a request without streaming gets. Each chunk is read while the
 * stream is running, so the client hardly waits at the end.
 */
export class CompletionStreamReader implements StreamReader {
  private readonly assembly = new StreamAssembly();
  private readonly held = new EventBuffer();
  private error: string | null = null;
  private unread = 0;
  private chunks = 0;

  constructor(private readonly object: string) {}

  add(chunk: Buffer): void {
    for (const event of eventData(this.held.events(chunk).toString('utf8'))) this.addEvent(event);
  }

  /** Checking each event first is slower, so it is done only when the assembled text is not JSON. */
  async end(bytes: Buffer, memory: BodyReservation): Promise<RecordedAnswer> {
    for (const event of eventData(this.held.take().toString('utf8'))) this.addChecked(event);
    const output = await this.output(memory);
    if (output !== null) return output;
    const careful = new CompletionStreamReader(this.object);
    const turn = new EventLoopTurn();
    for (const event of eventPayloads(bytes.toString('utf8'))) {
      if (turn.isOver) await turn.next();
      if (event !== null) careful.addChecked(event);
    }
    return (await careful.output(memory)) ?? UNREADABLE;
  }

  private addChecked(event: string): void {
    if (this.unread >= MAX_UNREAD) return;
    if (event !== '[DONE]' && event !== '' && parseOrUndefined(event) === undefined) this.unread++;
    else this.addEvent(event);
  }

  private addEvent(event: string): void {
    if (event === '[DONE]' || event === '' || this.unread >= MAX_UNREAD) return;
    const told = event.includes('"error"') ? errorIn(event) : null;
    if (told !== null) this.error = told;
    else if (addTo(this.assembly, event)) this.chunks++;
    else this.unread++;
  }

  /** Returns null when the assembled text is not JSON. */
  private async output(memory: BodyReservation): Promise<RecordedAnswer | null> {
    const { error, unread, chunks } = this;
    try {
      const members = memberTexts(this.assembly.json());
      const text = objectText([['object', JSON.stringify(this.object)], ...members]);
      return { text, value: await parseWithBudget(text, memory), error, unread, chunks };
    } catch (reason) {
      return reason instanceof SyntaxError ? null : { ...UNREADABLE, unread, chunks };
    }
  }
}

const UNREADABLE: RecordedAnswer = {
  text: 'null',
  value: undefined,
  error: 'the answer cannot be read',
  unread: 1,
  chunks: 0,
};

function errorIn(event: string): string | null {
  const chunk = parseOrUndefined(event);
  if (!isObject(chunk) || chunk['error'] === undefined || chunk['error'] === null) return null;
  return errorMessage(chunk) ?? 'the provider answered an error';
}

function addTo(assembly: StreamAssembly, event: string): boolean {
  try {
    return assembly.add(event);
  } catch {
    return false; // nested too deeply, too large, or not JSON
  }
}
