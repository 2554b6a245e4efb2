import protobuf from 'protobufjs';

export const GRPC = {
  ok: 0,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type GrpcCode = (typeof GRPC)[keyof typeof GRPC];

/**
 * gRPC codes keyed by HTTP status. A status that exporters retry over HTTP has a code that they retry too, and no other
 * status has.
 */
const CODES: Record<number, GrpcCode> = {
  200: GRPC.ok,
  401: GRPC.unauthenticated,
  403: GRPC.permissionDenied,
  404: GRPC.notFound,
  405: GRPC.unimplemented,
  408: GRPC.deadlineExceeded,
  429: GRPC.resourceExhausted,
  500: GRPC.internal,
  502: GRPC.unavailable,
  503: GRPC.unavailable,
  504: GRPC.unavailable,
};

export const codeOfStatus = (status: number): GrpcCode =>
  CODES[status] ?? (status < 500 ? GRPC.invalidArgument : GRPC.internal);

export interface GrpcOutcome {
  code: GrpcCode;
  message?: string;
  /** Seconds after which the client may send the request again. */
  retrySeconds?: number | undefined;
}

const MAX_MESSAGE = 1000;
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

/** Returns the trailers, or the headers of an answer without a message. */
export function trailersOf({ code, message, retrySeconds }: GrpcOutcome): Record<string, string> {
  return {
    'grpc-status': String(code),
    ...(message && { 'grpc-message': percentEncoded(message.slice(0, MAX_MESSAGE)) }),
    ...(retrySeconds !== undefined && {
      'grpc-status-details-bin': statusDetails(code, message ?? '', retrySeconds),
    }),
  };
}

/**
 * Percent-encodes a text as gRPC requires: visible ASCII except `%` stays, other characters become UTF-8 bytes in
 * hexadecimal.
 */
const percentEncoded = (text: string): string =>
  text.replaceAll(/[^\x20-\x24\x26-\x7e]+/g, (part) =>
    Buffer.from(part).toString('hex').toUpperCase().replaceAll(/../g, '%$&'),
  );

/**
 * Returns a google.rpc.Status with a google.rpc.RetryInfo in base64. Without RetryInfo, exporters do not retry after
 * RESOURCE_EXHAUSTED.
 */
function statusDetails(code: GrpcCode, message: string, seconds: number): string {
  const duration = protobuf.Writer.create().uint32(8).int64(seconds).finish();
  const retryInfo = protobuf.Writer.create().uint32(10).bytes(duration).finish();
  const any = protobuf.Writer.create()
    .uint32(10)
    .string(RETRY_INFO)
    .uint32(18)
    .bytes(retryInfo)
    .finish();
  const status = protobuf.Writer.create()
    .uint32(8)
    .int32(code)
    .uint32(18)
    .string(message.slice(0, MAX_MESSAGE))
    .uint32(26)
    .bytes(any)
    .finish();
  return Buffer.from(status).toString('base64').replace(/=+$/, '');
}

const UNITS_MS: Record<string, number> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Returns the milliseconds of the header `grpc-timeout`: undefined when it is missing, null when it is malformed. */
export function timeoutMs(header: string | undefined): number | undefined | null {
  if (header === undefined) return undefined;
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  return digits === undefined ? null : Number(digits) * UNITS_MS[unit!]!;
}
