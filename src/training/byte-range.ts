import type { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { invalidRequest } from '../platform/errors.js';
import type { Context } from '../platform/http/context.js';

/** Bytes from `start` up to `end`, which is not included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface RangedStream {
  stream: Readable;
  range: ByteRange;
  bytes: number;
}

/**
 * Reads the byte range of the header `Range`; all bytes without one. A header in another form (several ranges,
 * another unit) is ignored, as HTTP allows.
 * @throws ApiError `invalid_request` for a range that begins after the end
 */
export function readRange({ headers }: Context, bytes: number): ByteRange {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (first === '' && last === '') return { start: 0, end: bytes };
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  if (start < end) return { start, end };
  throw invalidRequest([{ path: 'Range', message: `must begin within the ${bytes} bytes` }]);
}

/** Returns the answer: 206 with `Content-Range` for a part, 200 for all bytes. */
export function rangedAnswer(
  { response }: Context,
  { stream, range, bytes }: RangedStream,
  type: string,
) {
  const { start, end } = range;
  response.setHeader('Accept-Ranges', 'bytes');
  if (end - start < bytes) {
    response.statusCode = 206;
    response.setHeader('Content-Range', `bytes ${start}-${end - 1}/${bytes}`);
  }
  return new StreamableFile(stream, { type, length: end - start });
}

/** Yields the bytes of a range. The first piece begins at byte `at`. */
export async function* sliceRange(
  pieces: AsyncIterable<Buffer>,
  { start, end }: ByteRange,
  at: number,
): AsyncGenerator<Buffer> {
  if (start >= end) return;
  for await (const piece of pieces) {
    const next = at + piece.length;
    if (next > start)
      yield piece.subarray(Math.max(0, start - at), Math.min(piece.length, end - at));
    if (next >= end) return;
    at = next;
  }
}
