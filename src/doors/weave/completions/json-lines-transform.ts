import {
  EventBuffer,
  eventData,
  type StreamTransform,
} from '../../gateway/relaying/event-stream.js';

/** Converts events into JSON lines with their data. The event `[DONE]` is left out. */
export class JsonLinesTransform implements StreamTransform {
  readonly contentType = 'application/jsonl';
  private readonly held = new EventBuffer();

  constructor(private readonly meta: (callId: string) => object) {}

  first(callId: string | null): string {
    return callId === null ? '' : `${JSON.stringify({ _meta: this.meta(callId) })}\n`;
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
