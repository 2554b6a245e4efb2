import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { ApiError } from '../errors.js';
import type { Context } from './context.js';

const INFLATED_CHUNK_BYTES = 64 * 1024;

const INFLATERS: Record<string, ((options: zlib.ZlibOptions) => Inflater) | undefined> = {
  gzip: zlib.createGunzip,
  deflate: zlib.createInflate,
  br: (options) => zlib.createBrotliDecompress({ chunkSize: options.chunkSize! }),
};

type Inflater = zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress;

/**
 * Lowest average speed of a body in bytes a second. A body held in memory must arrive faster than one that is stored
 * while it arrives.
 */
export const HELD_RATE = 64 * 1024;
export const STREAMED_RATE = 16 * 1024;

export interface BodyReading {
  /** Limit in inflated bytes. */
  limit: number;
  /** `HELD_RATE` or `STREAMED_RATE`. */
  rate: number;
  /** Longest pause of a body, and the longest delay behind its rate. The default is the app's limit. */
  timeoutMs?: number;
  /** Stops the reading, with its reason as the error. */
  signal?: AbortSignal;
}

/** A request, or its context. */
export type WithHeaders = Pick<IncomingMessage, 'headers'>;

/**
 * Returns the encoding of a body; empty for none.
 * @throws ApiError `unsupported_media_type`
 */
export function contentEncoding({ headers }: WithHeaders): string {
  const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return '';
  if (Object.hasOwn(INFLATERS, encoding)) return encoding;
  throw new ApiError(
    'unsupported_media_type',
    'the header Content-Encoding must be gzip, deflate, br or identity',
  );
}

export const inflaterBytes = (encoding: string): number =>
  encoding === '' ? 0 : encoding === 'br' ? 16 * 1024 * 1024 : 128 * 1024;

/** Returns the declared length of a body without an encoding. Undefined when it is unknown. */
export function declaredBytes({ headers }: WithHeaders, encoding: string): number | undefined {
  const length = headers['content-length'];
  return encoding === '' && length !== undefined ? Number(length) : undefined;
}

/**
 * Passes the inflated body of a request to `take`, chunk by chunk, and waits for the promise that it returns. `take`
 * runs in the asynchronous context of the connection. Inflating also stops when reading ends early: at the limit, on an
 * error of `take`, for a slow or absent client, or by the signal.
 * @throws ApiError `too_large`, `unsupported_media_type`, `request_timeout`, `invalid_json`, or the error that `take`
 * throws.
 */
export async function readInflated(
  context: Context,
  reading: BodyReading,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  const { request } = context;
  let inflater: Inflater | null = null;
  try {
    const encoding = contentEncoding(request);
    if ((declaredBytes(request, encoding) ?? 0) > reading.limit) throw tooLarge(reading.limit);
    if (request.destroyed) throw leftEarly();
    if (encoding) inflater = INFLATERS[encoding]!({ chunkSize: INFLATED_CHUNK_BYTES });
    await consume(context, inflater ? request.pipe(inflater) : request, reading, take);
  } catch (error) {
    if (inflater) {
      request.unpipe(inflater);
      inflater.destroy();
    }
    throw error;
  }
}

function consume(
  { request, response, bodies }: Context,
  source: Readable,
  { limit, rate, timeoutMs = bodies.timeoutMs, signal }: BodyReading,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const pace = new BodyDeadline(rate, timeoutMs, () => fail(tooSlow()));
    let bytes = 0;

    const onPiece = pieceCounter(() => {
      response.once('finish', () => request.socket.destroySoon()); // the next chunks would cost as much
      fail(new ApiError('invalid_request', TOO_MANY_PIECES));
    });
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      pace.came(chunk.length);
      if (bytes > limit) return fail(tooLarge(limit));
      try {
        const taking = take(chunk);
        if (taking) wait(taking);
      } catch (error) {
        fail(error);
      }
    };
    /** Result of `take` for the last chunk. A paused stream still emits `end` when nothing is left in it. */
    let taken: Promise<void> = Promise.resolve();
    const wait = (taking: Promise<void>) => {
      taken = taking;
      source.pause();
      pace.stop();
      taking.then(() => {
        if (isOver || source.readableEnded) return;
        pace.goOn();
        source.resume();
      }, fail);
    };
    const onEnd = () => {
      pace.stop();
      taken.then(() => {
        release();
        resolve();
      }, fail);
    };
    const fail = (error: unknown) => {
      release();
      reject(error);
    };
    const onError = (error: Error) =>
      fail(request.destroyed && !request.complete ? leftEarly() : notInflating(error));
    const onClose = () => {
      if (!request.complete) fail(leftEarly());
    };
    const onAbort = () => fail(signal!.reason);
    let isOver = false;
    const release = () => {
      if (isOver) return;
      isOver = true;
      pace.stop();
      source.off('data', onData).off('end', onEnd);
      request.off('close', onClose).off('data', onPiece);
      signal?.removeEventListener('abort', onAbort);
      source.pause();
    };

    source.on('data', onData).on('end', onEnd).on('error', onError);
    request.on('close', onClose).on('data', onPiece);
    if (source !== request) request.on('error', onError);
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted) onAbort();
  });
}

/** Most chunks of any size in a body. With more chunks, their average size must reach `LEAST_PIECE_BYTES`. */
export const MAX_PIECES = 50_000;
export const LEAST_PIECE_BYTES = 16;
const TOO_MANY_PIECES = `the body comes in more than ${MAX_PIECES} chunks of less than ${LEAST_PIECE_BYTES} bytes`;

/** Counts the chunks of a body. Each costs the event loop about as much as a thousand bytes. */
function pieceCounter(refuse: () => void): (piece: Buffer) => void {
  let pieces = 0;
  let bytes = 0;
  return (piece) => {
    pieces++;
    bytes += piece.length;
    if (pieces > MAX_PIECES && bytes < pieces * LEAST_PIECE_BYTES) refuse();
  };
}

/** Measures the time a client takes to send a body. Time in which the service does not read is excluded. */
class BodyDeadline {
  private bytes = 0;
  activeMs = 0;
  silentMs = 0;
  /** Start of the time that is not counted yet. Null while the service does not read. */
  private since: number | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly rate: number,
    private readonly timeoutMs: number,
    private readonly late: () => void,
  ) {
    this.goOn();
  }

  came(bytes: number): void {
    this.count();
    this.bytes += bytes;
    this.silentMs = 0;
  }

  stop(): void {
    this.count();
    this.since = null;
    clearTimeout(this.timer);
  }

  goOn(): void {
    this.since = performance.now();
    this.silentMs = 0;
    this.watch();
  }

  private count(): void {
    if (this.since === null) return;
    const now = performance.now();
    this.activeMs += now - this.since;
    this.silentMs += now - this.since;
    this.since = now;
  }

  private watch(): void {
    this.count();
    const left = msLeft(this.bytes, this.rate, this.timeoutMs, this);
    if (left > 0) this.timer = setTimeout(() => this.watch(), left + 1).unref();
    else this.late();
  }
}

/** Returns the time left for a body that has received so many bytes. Zero or less when it is too slow. */
export const msLeft = (
  bytes: number,
  rate: number,
  timeoutMs: number,
  { activeMs, silentMs }: { activeMs: number; silentMs: number },
): number => Math.min(timeoutMs - silentMs, timeoutMs + (bytes / rate) * 1000 - activeMs);

const LET_GO_BYTES = 64 * 1024 * 1024;
const LET_GO_MS = 30_000;
const LET_GO_CHECK_MS = 100;

/**
 * Receives and drops the rest of a request that is already answered, so that a client that sends before it reads gets
 * its answer. Cuts the connection after a number of bytes or a time. It counts bytes of the socket, because Node emits
 * no `data` for a body that is not being read.
 */
export function drainRequest(request: IncomingMessage): void {
  const { socket } = request;
  const last = socket.bytesRead + LET_GO_BYTES;
  const deadline = performance.now() + LET_GO_MS;
  const timer = setInterval(() => {
    if (request.complete || socket.destroyed) return clearInterval(timer);
    if (socket.bytesRead > last || performance.now() > deadline) socket.destroy();
  }, LET_GO_CHECK_MS).unref();
  request.on('error', () => {});
  request.resume();
}

export const tooLarge = (limit: number) =>
  new ApiError('too_large', `the body is over the limit of ${limit} bytes`);

const leftEarly = () => new ApiError('invalid_request', 'the body ended early');

const tooSlow = () => new ApiError('request_timeout', 'the body comes too slowly');

/** Turns zlib's errors into a refusal of the body; other errors pass. */
function notInflating(error: Error): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^Z_|^ERR_(BROTLI|_?PADDING)|^ERR__ERROR/.test(code))
    return new ApiError('invalid_json', 'the body does not match its Content-Encoding');
  return error;
}
