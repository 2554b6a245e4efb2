import { once } from 'node:events';
import { pipeline, type Readable, Transform } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { Request } from 'express';
import { callerOf } from './caller-of.js';

export const JSON_LINES = 'application/jsonl';
const NDJSON = 'application/x-ndjson';

/** Texts of rows, or bytes of rows that are framed already. */
type Batch = string[] | Buffer;

/**
 * Batches of JSON texts as one object a line. The content type is `application/x-ndjson` for who asks for that. Waits
 * for the first rows, so that a failing query still answers with an error status.
 */
export function jsonLines(batches: Readable, request: Request): Promise<StreamableFile> {
  const type = request.headers.accept?.includes(NDJSON) ? NDJSON : JSON_LINES;
  const frame = new Transform({
    writableObjectMode: true,
    transform(lines: Batch, _, done) {
      if (Buffer.isBuffer(lines)) {
        done(null, lines);
        return;
      }
      const text = `${lines.join('\n')}\n`;
      const isFramed = isOneLineEach(text, lines.length);
      done(null, isFramed ? text : `${lines.map(onOneLine).join('\n')}\n`);
    },
  });
  return streamed(batches, request, frame, type);
}

/** Batches of JSON texts as `{"<name>":[…]}`, or with further members given as JSON text behind the array. */
export function jsonArray(
  batches: Readable,
  request: Request,
  name: string,
  members = '',
): Promise<StreamableFile> {
  let before = `{${JSON.stringify(name)}:[`;
  const frame = new Transform({
    writableObjectMode: true,
    transform(texts: Batch, _, done) {
      this.push(before);
      before = ',';
      done(null, Buffer.isBuffer(texts) ? texts : texts.join(','));
    },
    flush(done) {
      done(null, `${before === ',' ? '' : before}]${members && `,${members}`}}`);
    },
  });
  return streamed(batches, request, frame, 'application/json');
}

/**
 * A client that leaves ends the source at once, also while the first row is still being looked for. A key that is
 * revoked meanwhile gets no further batch.
 */
async function streamed(
  batches: Readable,
  request: Request,
  frame: Transform,
  type: string,
): Promise<StreamableFile> {
  const leave = () => batches.destroy(new Error('the client has left'));
  const response = request.res!;
  if (response.destroyed) leave();
  else response.once('close', leave);
  batches.on('error', () => {}); // fails the wait, or the frame; also while neither listens
  await once(batches, 'readable');
  const assertValid = async () => callerOf(request).assertValid();
  await assertValid();
  if (batches.errored) throw batches.errored;
  const watched = new Transform({
    objectMode: true,
    highWaterMark: 1,
    transform(batch: Batch, _, done) {
      assertValid().then(() => done(null, batch), done);
    },
  });
  pipeline(batches, watched, frame, () => {}); // ties the two lifetimes; the error of the source becomes the frame's
  return new StreamableFile(frame, { type });
}

/** Raw line breaks of JSON stand between its tokens only (inside strings they are escaped): a blank says the same. */
const onOneLine = (json: string) => json.replaceAll(/[\r\n]/g, ' ');

function isOneLineEach(text: string, lines: number): boolean {
  if (text.includes('\r')) return false;
  let at = -1;
  for (let i = 0; i < lines; i++) at = text.indexOf('\n', at + 1);
  return at === text.length - 1;
}
