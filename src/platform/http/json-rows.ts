import { once } from 'node:events';
import { pipeline, type Readable, Transform } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { Context } from './context.js';

export const JSON_LINES = 'application/jsonl';
export const NDJSON = 'application/x-ndjson';

/** JSON texts: strings, or bytes with one spare byte behind each text, at the positions in `ends`. */
export type JsonBatch = string[] | { bytes: Buffer; ends: number[] };

export const rowCount = (batch: JsonBatch): number =>
  Array.isArray(batch) ? batch.length : batch.ends.length;

/** A stream waits for one batch. By default it takes 16, and a row may have tens of MiB. */
export const ONE_BATCH = { writableObjectMode: true, writableHighWaterMark: 1 };

const NEW_LINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;

/**
 * Streams batches of JSON texts as one object a line, or bytes that already are JSON lines. The content type is
 * `application/x-ndjson` when the client accepts it. Waits for the first rows, so that a failing query still answers
 * with an error status.
 */
export function jsonLines(batches: Readable, context: Context): Promise<StreamableFile> {
  const type = context.headers.accept?.includes(NDJSON) ? NDJSON : JSON_LINES;
  return answerStream(batches, context, linesFrame(), type);
}

/** Turns batches of JSON texts into JSON lines. */
export const linesFrame = () =>
  new Transform({
    ...ONE_BATCH,
    transform(batch: JsonBatch | Buffer, _, done) {
      done(null, Buffer.isBuffer(batch) ? batch : toLines(batch));
    },
  });

/**
 * Streams batches of JSON texts as `{"<name>":[…]}`. `members` is called at the end and returns JSON text of further
 * members behind the array.
 */
export function jsonArray(
  batches: Readable,
  context: Context,
  name: string,
  members = () => '',
): Promise<StreamableFile> {
  let before = `{${JSON.stringify(name)}:[`;
  const frame = new Transform({
    ...ONE_BATCH,
    transform(batch: JsonBatch, _, done) {
      const { bytes, ends } = separate(batch, COMMA);
      if (ends.length === 0) return done();
      this.push(before);
      before = ',';
      done(null, bytes.subarray(0, ends.at(-1)));
    },
    flush(done) {
      const more = members();
      done(null, `${before === ',' ? '' : before}]${more && `,${more}`}}`);
    },
  });
  return answerStream(batches, context, frame, 'application/json');
}

/** A longer text is sent as bytes. Decoding it and encoding it again would take about 1 ms per MB. */
const SHORT_BYTES = 64 * 1024;

/** Returns one JSON text as `{"<name>":…}`. */
export function jsonObject(json: Buffer, context: Context, name: string): string | StreamableFile {
  const before = `{${JSON.stringify(name)}:`;
  if (json.length <= SHORT_BYTES) return `${before}${json.toString()}}`;
  const bytes = Buffer.concat([Buffer.from(before), json, Buffer.from('}')]);
  context.holdAnswer(bytes);
  const type = 'application/json; charset=utf-8';
  return new StreamableFile(bytes, { type, length: bytes.length });
}

/**
 * Streams the answer. The source is destroyed as soon as the client leaves, also before the first row. After a
 * revocation of the key no further batch is sent.
 */
export async function answerStream(
  batches: Readable,
  { caller, signal }: Context,
  frame: Transform,
  type: string,
): Promise<StreamableFile> {
  const leave = () => batches.destroy(new Error('the client has left'));
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave);
  batches.on('error', () => {}); // the wait or the frame handles the error; this listens while neither does
  await once(batches, 'readable');
  await caller.assertValid();
  if (batches.errored) throw batches.errored;
  const watched = new Transform({
    ...ONE_BATCH,
    readableObjectMode: true,
    readableHighWaterMark: 1,
    transform(batch: JsonBatch, _, done) {
      caller.assertValid().then(() => done(null, batch), done);
    },
  });
  pipeline(batches, watched, frame, () => {}); // ties the two lifetimes; an error of the source fails the frame
  return new StreamableFile(frame, { type });
}

function separate(batch: JsonBatch, separator: number): { bytes: Buffer; ends: number[] } {
  const rows = Array.isArray(batch) ? joinRows(batch) : batch;
  for (const end of rows.ends) rows.bytes[end] = separator;
  return rows;
}

function joinRows(texts: string[]) {
  let end = -1;
  const ends = texts.map((text) => (end += Buffer.byteLength(text) + 1));
  return { bytes: Buffer.from(`${texts.join(' ')} `), ends };
}

/**
 * Returns the texts as lines. Line breaks within JSON are only between tokens (strings escape them), so each becomes a
 * space.
 */
export function toLines(batch: JsonBatch): Buffer {
  const { bytes, ends } = separate(batch, NEW_LINE);
  if (isOneLineEach(bytes, ends.length)) return bytes;
  let start = 0;
  for (const end of ends) {
    for (let i = start; i < end; i++)
      if (bytes[i] === NEW_LINE || bytes[i] === RETURN) bytes[i] = SPACE;
    start = end + 1;
  }
  return bytes;
}

function isOneLineEach(bytes: Buffer, rows: number): boolean {
  if (bytes.includes(RETURN)) return false;
  let at = -1;
  for (let i = 0; i < rows; i++) at = bytes.indexOf(NEW_LINE, at + 1);
  return at === bytes.length - 1;
}
