import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import busboy from 'busboy';
import type { Request } from 'express';
import { ApiError, invalidRequest } from '../common/errors.js';

/** Only names and digests are read from fields; what is longer or comes in greater number is cut. */
const LIMITS = { fieldNameSize: 100, fieldSize: 1024, fields: 32, files: 8, headerPairs: 32 };

/** Fields of the form by name. Those that stand behind the file are there once `isComplete` has resolved. */
export interface Form {
  fields: ReadonlyMap<string, string>;
  isComplete: Promise<void>;
}

/**
 * Reads a multipart body with one part `file`, which `take` consumes while it arrives: what it does not read is not
 * received. When the client leaves or sends nothing for `stalledAfterMs`, or the body is broken, the file ends with an
 * error. Whoever fails, the rest of the
 * body is read off and dropped, so that the answer reaches the client.
 * @throws ApiError `unsupported_media_type`, `invalid_request`, or what `take` throws.
 */
export async function readFileForm<T>(
  request: Request,
  take: (file: Readable, form: Form) => Promise<T>,
  stalledAfterMs: number,
): Promise<T> {
  const parser = formParser(request);
  const source = inflated(request);
  const fields = new Map<string, string>();
  let taken: Promise<T> | undefined;
  const isComplete = new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(unreadable(error.message));
    parser.on('field', (name, value) => fields.set(name, value));
    parser.on('file', (name, file) => {
      file.on('error', () => {}); // also reaches take, or the parser
      if (name === 'file' && !taken) {
        taken = take(file, { fields, isComplete });
        taken.catch(reject);
        return;
      }
      file.resume();
      if (name === 'file') reject(invalidRequest([{ path: 'file', message: 'must be one file' }]));
    });
    const idle = setTimeout(() => {
      // who is not read from, or has sent everything, is not to blame
      if (parser.writableLength > 0 || request.complete) idle.refresh();
      else reject(new ApiError('invalid_request', 'the upload has stalled'));
    }, stalledAfterMs);
    const goesOn = () => idle.refresh();
    source.on('data', goesOn);
    parser.on('drain', goesOn);
    parser.once('close', () => {
      source.off('data', goesOn);
      clearTimeout(idle);
      resolve();
    });
    parser.on('error', fail);
    source.on('error', fail);
    request.once('close', () => {
      if (!request.complete) reject(unreadable('it ended early'));
    });
    source.pipe(parser);
  });
  try {
    await isComplete;
    if (!taken) throw invalidRequest([{ path: 'file', message: 'is required' }]);
    return await taken;
  } finally {
    source.unpipe(parser);
    parser.destroy();
    source.resume();
  }
}

function formParser(request: Request): busboy.Busboy {
  if (!/^multipart\/form-data *(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new ApiError(
      'unsupported_media_type',
      'the header Content-Type must be multipart/form-data',
    );
  try {
    return busboy({ headers: request.headers, limits: LIMITS, defParamCharset: 'utf8' });
  } catch (error) {
    throw unreadable((error as Error).message);
  }
}

const DECODERS: Record<string, (() => NodeJS.ReadWriteStream & Readable) | undefined> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function inflated(request: Request): Readable {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return request;
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]!() : undefined;
  if (!decoder)
    throw new ApiError('unsupported_media_type', `unsupported content encoding "${encoding}"`);
  return request.pipe(decoder);
}

const unreadable = (reason: string) =>
  new ApiError('invalid_request', `the body cannot be read as multipart/form-data: ${reason}`);
