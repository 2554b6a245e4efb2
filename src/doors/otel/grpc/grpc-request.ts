import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { InnerAnswer, InnerRequest } from '../../../platform/http/inner-request.js';
import { framed, MessageCutter, InvalidGrpcMessage, type MessagePrefix } from './grpc-message.js';
import {
  codeOfStatus,
  GRPC,
  type GrpcCode,
  type GrpcOutcome,
  timeoutMs,
  trailersOf,
} from './grpc-status.js';

/** HTTP operations, keyed by the gRPC method that they implement. */
const PATHS: Record<string, string> = {
  '/opentelemetry.proto.collector.trace.v1.TraceService/Export': '/otel/v1/traces',
  '/opentelemetry.proto.collector.logs.v1.LogsService/Export': '/otel/v1/logs',
  '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export': '/otel/v1/metrics',
};

/** Encodings of messages, which have the same names in HTTP. */
const ENCODINGS = ['gzip', 'deflate'];
const ACCEPTED = { 'grpc-accept-encoding': ['identity', ...ENCODINGS].join(',') };

/** A client that does not read its answer within this time is disconnected. Answers are short. */
const UNREAD_MS = 60_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Headers that concern only the connection, or that are set from other values. */
const UNFORWARDED_HEADERS =
  /^(:.*|grpc-.*|.*-bin|te|trailer|upgrade|expect|connection|keep-alive|proxy-.*|transfer-encoding|content-.*|host|cookie)$/;

const NO_MESSAGE: MessagePrefix = { isCompressed: false, length: 0 };

type OpenInner = (onEnd: (answer: InnerAnswer | null) => void) => InnerRequest;

/**
 * Handles one gRPC request with an HTTP operation. Headers and bytes of the message are forwarded as they arrive, and
 * the answer becomes a gRPC status. So authentication, queues and memory limits apply before the message is read, as
 * they do for HTTP.
 */
class GrpcRequest {
  private deadline: NodeJS.Timeout | undefined;
  private isAnswered = false;

  constructor(
    private readonly stream: ServerHttp2Stream,
    private readonly headers: IncomingHttpHeaders,
    private readonly firstMs: number,
  ) {}

  start(openInner: OpenInner): void {
    this.stream.on('error', () => {});
    const refusal = this.refusal();
    if (refusal === 'no gRPC') this.refuseMedia();
    else if (refusal) this.answer(refusal);
    else this.forward(openInner((answer) => this.answerAs(answer)));
  }

  private forward(inner: InnerRequest): void {
    this.stream.once('close', () => {
      clearTimeout(this.deadline);
      inner.abort();
    });
    if (inner.socket.destroyed) return;
    this.watchDeadline(inner);
    // without a key, nothing of the message is read
    if (this.headers.authorization === undefined) this.pass(inner, NO_MESSAGE);
    else this.passMessage(inner);
  }

  private refusal(): GrpcOutcome | 'no gRPC' | undefined {
    const { ':method': method, ':path': path = '', 'content-type': type = '' } = this.headers;
    if (method !== 'POST' || !/^application\/grpc(\+proto)?\s*(;|$)/i.test(type)) return 'no gRPC';
    if (!Object.hasOwn(PATHS, path))
      return { code: GRPC.unimplemented, message: `there is no method ${path.slice(0, 200)}` };
    if (timeoutMs(header(this.headers, 'grpc-timeout')) === null)
      return { code: GRPC.invalidArgument, message: 'the header grpc-timeout is not valid' };
    return undefined;
  }

  private watchDeadline(inner: InnerRequest): void {
    const ms = timeoutMs(header(this.headers, 'grpc-timeout'));
    if (typeof ms !== 'number') return;
    const late = () =>
      this.fail(inner, GRPC.deadlineExceeded, 'the deadline of the request is over');
    this.deadline = setTimeout(late, Math.min(ms, MAX_TIMER_MS)).unref();
  }

  private fail(inner: InnerRequest, code: GrpcCode, message: string): void {
    this.answer({ code, message });
    inner.abort();
  }

  /** Begins the HTTP request when the prefix is complete, and forwards the bytes that follow. */
  private passMessage(inner: InnerRequest): void {
    const { stream } = this;
    const cutter = new MessageCutter((prefix) => this.pass(inner, prefix));
    stream.on('data', (chunk: Buffer) => {
      if (this.isAnswered) return;
      try {
        const part = cutter.cut(chunk);
        if (!part || !inner.hasBegun) return;
        const hasRoom = part.length === 0 || inner.push(part);
        if (cutter.isComplete) inner.pushEnd();
        else if (!hasRoom) stream.pause();
      } catch (error) {
        if (!(error instanceof InvalidGrpcMessage)) throw error;
        this.fail(inner, GRPC.invalidArgument, error.message);
      }
    });
    stream.once('end', () => {
      if (!cutter.isComplete) this.fail(inner, GRPC.invalidArgument, 'the message ended early');
    });
    this.firstWait(inner);
  }

  /** Limits the time until the prefix arrives, like the time for the head of an HTTP request. */
  private firstWait(inner: InnerRequest): void {
    const late = () => {
      if (!inner.hasBegun)
        this.fail(inner, GRPC.deadlineExceeded, 'the message did not arrive in time');
    };
    const timer = setTimeout(late, this.firstMs).unref();
    this.stream.once('close', () => clearTimeout(timer));
  }

  private pass(inner: InnerRequest, { isCompressed, length }: MessagePrefix): void {
    const encoding = isCompressed ? header(this.headers, 'grpc-encoding') : undefined;
    if (isCompressed && !ENCODINGS.includes(encoding ?? ''))
      return this.fail(
        inner,
        GRPC.unimplemented,
        `the header grpc-encoding of a compressed message must be ${ENCODINGS.join(' or ')}`,
      );
    const headers: IncomingHttpHeaders = {
      ...forwardedHeaders(this.headers),
      'content-type': 'application/x-protobuf',
      'content-length': String(length),
      ...(encoding && { 'content-encoding': encoding }),
    };
    const path = PATHS[this.headers[':path']!]!;
    const { stream } = this;
    inner.begin({ path, headers, read: () => void stream.resume() });
    if (this.headers.authorization === undefined) inner.pushEnd();
  }

  private answerAs(answer: InnerAnswer | null): void {
    if (!answer) return this.answer(CUT);
    const { status, body } = answer;
    const id = answer.header('x-request-id');
    const more = id === undefined ? {} : { 'x-request-id': id };
    const code = codeOfStatus(status);
    if (code === GRPC.ok) return this.answer({ code }, more, body);
    const retryAfter = Number(answer.header('retry-after') ?? NaN);
    const retrySeconds = Number.isSafeInteger(retryAfter) ? retryAfter : undefined;
    this.answer({ code, message: problemDetail(body), retrySeconds }, more);
  }

  private answer(outcome: GrpcOutcome, more: OutgoingHttpHeaders = {}, message?: Uint8Array): void {
    const { stream } = this;
    if (!this.begin()) return;
    const headers = {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      ...ACCEPTED,
      ...more,
    };
    if (!message) {
      stream.respond({ ...headers, ...trailersOf(outcome) }, { endStream: true });
      return stream.close(constants.NGHTTP2_NO_ERROR); // the rest of the message is not read
    }
    stream.respond(headers, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(trailersOf(outcome)));
    stream.end(framed(message));
  }

  /** Answers a request that is not gRPC, as the gRPC specification requires. */
  private refuseMedia(): void {
    if (!this.begin()) return;
    this.stream.respond({ ':status': 415 }, { endStream: true });
    this.stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** Returns true when the stream can still be answered. Starts the time limit for reading the answer. */
  private begin(): boolean {
    const { stream } = this;
    if (this.isAnswered || stream.destroyed || stream.closed) return false;
    this.isAnswered = true;
    const timer = setTimeout(() => stream.destroy(), UNREAD_MS).unref();
    stream.once('close', () => clearTimeout(timer)).resume();
    return true;
  }
}

/** Answers a gRPC stream. Its message must begin within `firstMs`. */
export function answerGrpc(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  firstMs: number,
  openInner: OpenInner,
): void {
  new GrpcRequest(stream, headers, firstMs).start(openInner);
}

/** Outcome when the server closed the request, because it has no capacity or is stopping. */
const CUT: GrpcOutcome = {
  code: GRPC.unavailable,
  message: 'the request was cut',
  retrySeconds: 1,
};

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function forwardedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && !UNFORWARDED_HEADERS.test(name)) passed[name] = value;
  const host = headers[':authority'];
  return { ...passed, host: typeof host === 'string' ? host : 'localhost' };
}

function problemDetail(body: Buffer): string {
  try {
    const { detail } = JSON.parse(body.toString()) as { detail?: unknown };
    return String(detail);
  } catch {
    return 'the request failed';
  }
}
