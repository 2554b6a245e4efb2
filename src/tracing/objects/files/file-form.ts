import { AsyncResource } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import type { Context } from '../../../platform/http/context.js';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import {
  contentEncoding,
  inflaterBytes,
  readInflated,
  STREAMED_RATE,
} from '../../../platform/http/inflated-body.js';

/** Limits of the form. Only names and digests are read from fields, so longer and further ones are cut. */
const LIMITS = { fieldNameSize: 100, fieldSize: 1024, fields: 32, files: 8, headerPairs: 32 };

/** The fields of a form, by name. Fields after the file are present once `isComplete` has resolved. */
export interface UploadForm {
  fields: ReadonlyMap<string, string>;
  isComplete: Promise<void>;
}

/** Memory of a form that is read: chunks of the file, and busboy's buffers. */
const FORM_BYTES = 1024 * 1024;

/**
 * Reads a multipart body with one part `file`. `take` consumes the file while it arrives, and the service receives only
 * as fast as `take` reads. When the body ends early, is invalid or arrives too slowly, the file ends with an error.
 * @throws ApiError as `readInflated`, or the error of `take`
 */
export async function readFileForm<T>(
  context: Context,
  take: (file: Readable, form: UploadForm) => Promise<T>,
  limits: { limit: number; timeoutMs: number },
): Promise<T> {
  const parser = formParser(context);
  await context.hold.set(FORM_BYTES + inflaterBytes(contentEncoding(context)));
  const fields = new Map<string, string>();
  const failure = new AbortController();
  const fail = (error: unknown) => failure.abort(error);
  let taken: Promise<T> | undefined;
  const isParsed = new Promise<void>((resolve, reject) => {
    failure.signal.addEventListener('abort', () => reject(failure.signal.reason));
    parser.on('field', (name, value) => fields.set(name, value));
    parser.on('file', (name, file) => {
      file.on('error', () => {}); // the error also reaches `take` or the parser
      if (name === 'file' && !taken) {
        taken = take(file, { fields, isComplete });
        taken.catch(fail);
        return;
      }
      file.resume();
      if (name === 'file') fail(invalidRequest([{ path: 'file', message: 'must be one file' }]));
    });
    parser.on('error', (error: Error) => fail(unreadable(error.message)));
    parser.once('close', resolve);
  });
  const isRead = readInflated(
    context,
    { ...limits, rate: STREAMED_RATE, signal: failure.signal },
    AsyncResource.bind((chunk: Buffer) => (parser.write(chunk) ? undefined : drained(parser))),
  ).then(() => void parser.end());
  isRead.catch((error: unknown) => fail(ofForm(error)));
  const isComplete = isParsed.then(() => isRead);
  try {
    await isComplete;
    if (!taken) throw invalidRequest([{ path: 'file', message: 'is required' }]);
    return await taken;
  } finally {
    parser.destroy();
  }
}

const drained = (parser: busboy.Busboy) =>
  new Promise<void>((resolve) => parser.once('drain', resolve));

/** Replaces the error `invalid_json` of a body that does not inflate, since a form is not JSON. */
const ofForm = (error: unknown) =>
  error instanceof ApiError && error.code === 'invalid_json' ? unreadable(error.message) : error;

function formParser({ headers }: Context): busboy.Busboy {
  if (!/^multipart\/form-data *(;|$)/i.test(headers['content-type'] ?? ''))
    throw new ApiError(
      'unsupported_media_type',
      'the header Content-Type must be multipart/form-data',
    );
  try {
    return busboy({ headers, limits: LIMITS, defParamCharset: 'utf8' });
  } catch (error) {
    throw unreadable((error as Error).message);
  }
}

const unreadable = (reason: string) =>
  new ApiError('invalid_request', `the body cannot be read as multipart/form-data: ${reason}`);
