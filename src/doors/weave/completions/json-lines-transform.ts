import {
  EventBuffer,
  eventData,
  type StreamTransform,
} from '../../gateway/relaying/event-stream.js';

/** Returns the first line of a stream, or an empty text when the call is not recorded. */
export const metaLine = (weave_call_id: string | null): string =>
  weave_call_id === null ? '' : `${JSON.stringify({ _meta: { weave_call_id } })}\n`;

/** Converts events into JSON lines with their data. The event `[DONE]` is left out. */
export class JsonLinesTransform implements StreamTransform {
  readonly contentType = 'application/jsonl';
  readonly head: string;
  private readonly held = new EventBuffer();

  constructor(callId: string | null) {
    this.head = metaLine(callId);
  }

  pass(chunk: Buffer): Buffer {
    return Buffer.from(asLines(this.held.events(chunk).toString()));
  }

  rest(): Buffer {
    return Buffer.from(asLines(this.held.take().toString()));
  }

  failure(message: string): string {
    return `${JSON.stringify({ error: message })}\n`;
  }
}

const asLines = (events: string) =>
  eventData(events)
    .filter((payload) => payload !== '[DONE]' && payload !== '')
    .map((payload) => `${payload.replaceAll('\n', ' ')}\n`)
    .join('');
