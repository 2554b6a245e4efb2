import type { Readable } from 'node:stream';
import zlib from 'node:zlib';
import type { Request } from 'express';
import { assertJson, bodyError } from '../common/body.guard.js';
import { ApiError } from '../common/errors.js';

const INFLATED_CHUNK_BYTES = 64 * 1024;

/**
 * The body of a request, inflated, as it comes: the counterpart of `BodyGuard` for bodies that are too large to be held.
 * The limit counts inflated bytes and stops the inflating. When the reader leaves early, by an error or by itself, the
 * rest of the request is let go by, so that the client reads its answer instead of a broken connection.
 */
export async function* bodyOf(request: Request, limit: number): AsyncGenerator<Buffer> {
  assertJson(request);
  const source = inflated(request);
  let bytes = 0;
  try {
    if (source === request && Number(request.headers['content-length']) > limit)
      throw tooLarge(limit);
    for await (const chunk of source.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > limit) throw tooLarge(limit);
      yield chunk;
    }
  } catch (error) {
    throw request.destroyed && !request.complete ? leftEarly() : bodyError(error);
  } finally {
    letGoBy(request, source);
  }
}

function inflated(request: Request): Readable {
  const encoding = (request.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return request;
  const options = { chunkSize: INFLATED_CHUNK_BYTES };
  const inflater =
    encoding === 'gzip'
      ? zlib.createGunzip(options)
      : encoding === 'deflate'
        ? zlib.createInflate(options)
        : encoding === 'br'
          ? zlib.createBrotliDecompress(options)
          : null;
  if (!inflater)
    throw new ApiError(
      'unsupported_media_type',
      'the header Content-Encoding must be gzip, deflate, br or identity',
    );
  request.once('close', () => {
    if (!request.complete) inflater.destroy(leftEarly());
  });
  return request.pipe(inflater);
}

/** The time limit of the server for a whole request bounds this. */
function letGoBy(request: Request, source: Readable): void {
  if (source !== request) {
    request.unpipe();
    source.destroy();
  }
  request.resume();
}

const tooLarge = (limit: number) =>
  new ApiError('too_large', `the body is over the limit of ${limit} bytes`);

/** Nobody reads it: the client has gone. */
const leftEarly = () => new ApiError('invalid_request', 'the body ended early');
