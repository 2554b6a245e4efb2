import { once } from 'node:events';
import { pipeline, type Readable, Transform } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { Context } from './context.js';

export const JSON_LINES = 'application/jsonl';
export const NDJSON = 'application/x-ndjson';

/** JSON texts: as strings, or as bytes with one byte left behind each, at `ends`. */
type Batch = string[] | { bytes: Buffer; ends: number[] };

const NEW_LINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;

/**
 * Batches of JSON texts as one object a line, or bytes that are such lines already. The content type is
 * `application/x-ndjson` where the client asks for it. Waits for the first rows, so that a failing query still answers
 * with an error status.
 */
export function jsonLines(batches: Readable, context: Context): Promise<StreamableFile> {
  const type = context.headers.accept?.includes(NDJSON) ? NDJSON : JSON_LINES;
  const frame = new Transform({
    writableObjectMode: true,
    transform(batch: Batch | Buffer, _, done) {
      done(null, Buffer.isBuffer(batch) ? batch : lines(batch));
    },
  });
  return stream(batches, context, frame, type);
}

/** Batches of JSON texts as `{"<name>":[…]}`, or with further members behind the array, as JSON text that is asked for at the end. */
export function jsonArray(
  batches: Readable,
  context: Context,
  name: string,
  members = () => '',
): Promise<StreamableFile> {
  let before = `{${JSON.stringify(name)}:[`;
  const frame = new Transform({
    writableObjectMode: true,
    transform(batch: Batch, _, done) {
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
  return stream(batches, context, frame, 'application/json');
}

/** A longer text would be decoded, and encoded again, for about 1 ms for each MB. */
const SHORT_BYTES = 64 * 1024;

/** One JSON text as `{"<name>":…}`. */
export function jsonObject(json: Buffer, context: Context, name: string): string | StreamableFile {
  const before = `{${JSON.stringify(name)}:`;
  if (json.length <= SHORT_BYTES) return `${before}${json.toString()}}`;
  const bytes = Buffer.concat([Buffer.from(before), json, Buffer.from('}')]);
  context.holdAnswer(bytes);
  const type = 'application/json; charset=utf-8';
  return new StreamableFile(bytes, { type, length: bytes.length });
}

/**
 * A client that leaves ends the source at once, also while the first row is still being looked for. A key that is
 * revoked meanwhile gets no further batch.
 */
async function stream(
  batches: Readable,
  { caller, signal }: Context,
  frame: Transform,
  type: string,
): Promise<StreamableFile> {
  const leave = () => batches.destroy(new Error('the client has left'));
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave);
  batches.on('error', () => {}); // fails the wait, or the frame; also while neither listens
  await once(batches, 'readable');
  await caller.assertValid();
  if (batches.errored) throw batches.errored;
  const watched = new Transform({
    objectMode: true,
    highWaterMark: 1,
    transform(batch: Batch, _, done) {
      caller.assertValid().then(() => done(null, batch), done);
    },
  });
  pipeline(batches, watched, frame, () => {}); // ties the two lifetimes; the error of the source becomes the frame's
  return new StreamableFile(frame, { type });
}

/** The texts as bytes, with the separator behind each. */
function separate(batch: Batch, separator: number): { bytes: Buffer; ends: number[] } {
  const rows = Array.isArray(batch) ? joinRows(batch) : batch;
  for (const end of rows.ends) rows.bytes[end] = separator;
  return rows;
}

function joinRows(texts: string[]) {
  let end = -1;
  const ends = texts.map((text) => (end += Buffer.byteLength(text) + 1));
  return { bytes: Buffer.from(`${texts.join(' ')} `), ends };
}

/** Raw line breaks of JSON stand between its tokens only (inside strings they are escaped): a blank says the same. */
function lines(batch: Batch): Buffer {
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
