import type { BodyReservation } from '../../../platform/http/body-budget.js';
import { isObject } from '../../../platform/json/json-object.js';
import { parsedBytes, parseBounded } from '../../../platform/json/json-weight.js';

/** An answer as it is recorded, as far as it came. */
export interface RecordedAnswer {
  /** JSON text. */
  text: string;
  /** The parsed `text`; undefined when it could not be read. */
  value: unknown;
  /** The error that the provider reported, or why the answer could not be read. */
  error: string | null;
  /** Number of events that could not be read; `chunks` is the number of those that could. */
  unread: number;
  chunks: number;
}

/** Reads an answer that was not streamed. If parsing would take too much memory, the answer is kept as a text. */
export async function readWholeAnswer(
  bytes: Buffer,
  memory: BodyReservation,
): Promise<RecordedAnswer> {
  const text = bytes.toString('utf8').trim();
  try {
    const value = await parseWithBudget(text, memory);
    const error = isObject(value) && isObject(value['error']) ? errorMessage(value) : null;
    return { text, value, error, unread: 0, chunks: 0 };
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    return {
      text: JSON.stringify(text),
      value: undefined,
      error: `the answer ${why}`,
      unread: 1,
      chunks: 0,
    };
  }
}

/**
 * Parses JSON after reserving the memory that its value takes.
 * @throws SyntaxError when the text is not JSON; another error when it takes too much memory
 */
export async function parseWithBudget(text: string, memory: BodyReservation): Promise<unknown> {
  await memory.add(parsedBytes(text));
  return JSON.parse(text);
}

/** Reads a stream, chunk by chunk, after each chunk was sent to the client. */
export interface StreamReader {
  add(chunk: Buffer): void;
  /** Returns the whole answer. `bytes` are all bytes of the stream. */
  end(bytes: Buffer, memory: BodyReservation): Promise<RecordedAnswer>;
}

/** A stream is read no further after this many events that cannot be read. */
export const MAX_UNREAD = 1000;

export function parseOrUndefined(text: string): unknown {
  try {
    return parseBounded(text);
  } catch {
    return undefined;
  }
}

/** Returns the message of an error in the shape of OpenAI or FastAPI. */
export function errorMessage(body: unknown): string | null {
  if (!isObject(body)) return null;
  const { error, detail, message } = body;
  const said = isObject(error) ? error['message'] : error;
  const first = [said, message, detail].find((text) => typeof text === 'string');
  return typeof first === 'string' ? first : null;
}
