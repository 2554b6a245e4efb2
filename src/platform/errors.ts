import { HttpException } from '@nestjs/common';
import { InvalidQuery } from './query/columns.js';
import { isObject } from './json/json-object.js';
import { TooDeep } from './json/json-grammar.js';
import { JsonLimit } from './json/json-weight.js';
import { Busy, RowTooLarge } from './refusals.js';

/**
 * Every error code that a client can receive: its HTTP status, a short title that never changes, and advice for the
 * client. `docs/errors.md` documents the same codes in more detail; a test compares the two.
 */
export const ERRORS = {
  invalid_json: {
    status: 400,
    title: 'The body is not JSON',
    todo: 'Correct the body. The same bytes fail again.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    todo: 'Correct the fields that `errors` or `detail` names.',
  },
  lint_failed: {
    status: 400,
    title: 'The build has errors',
    todo: 'Correct the recorded data or the recipe, or name the codes in `accept`.',
  },
  unauthenticated: {
    status: 401,
    title: 'Credentials are missing or not valid',
    todo: 'Send a valid key.',
  },
  forbidden: {
    status: 403,
    title: 'The key does not allow this',
    todo: 'Use another key, or ask an admin for one.',
  },
  quota_exceeded: {
    status: 403,
    title: 'A quota of bytes is full',
    todo: 'Erase data, or ask an admin for a higher quota. The same request fails until then.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    todo: 'Check the id or the name.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path does not take this method',
    todo: 'Use a method that the header `Allow` names.',
  },
  misdirected: {
    status: 421,
    title: 'The service does not answer for this host',
    todo: 'Use an address whose host is in ALLOWED_HOSTS, or ask the operator to add it.',
  },
  conflict: {
    status: 409,
    title: 'The request contradicts what is stored',
    todo: 'Do not send the same request again. Read what is stored.',
  },
  legal_hold: {
    status: 409,
    title: 'A legal hold of the project forbids this',
    todo: 'Send the request again after an admin has released the hold that `detail` names.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    todo: 'Send it again over a faster connection, compressed, or in smaller parts.',
  },
  too_large: {
    status: 413,
    title: 'Something is over its limit',
    todo: 'Send less at once: split a batch.',
  },
  items_refused: {
    status: 422,
    title: 'Items were refused',
    todo: 'Correct or leave out the items that `errors` names. The others are stored.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has a form that is not understood',
    todo: 'Set the header that `detail` names.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are over their limit',
    todo: 'Send fewer or shorter headers, or a shorter query string.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    todo: 'Send the same request again after `Retry-After` seconds.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    todo: 'Report it with the `request_id`.',
  },
  provider_failed: {
    status: 502,
    title: 'A provider of models did not answer as it should',
    todo: 'Send the same request again. Tell the operator if the error stays.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer now',
    todo: 'Send the same request again after `Retry-After` seconds. Starts and ends are upserts; other writes are safe with an `Idempotency-Key`.',
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/**
 * Path of the page that documents all errors. The `type` of a problem document is this path with the code as its
 * fragment.
 */
export const ERRORS_PATH = 'errors';

/** HTML of the errors page. It loads no other resource. */
export const ERRORS_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Errors of Skein</title>
<h1>Errors</h1>
${Object.entries(ERRORS)
  .map(
    ([code, { status, title, todo }]) =>
      `<h2 id="${code}"><code>${code}</code> (${status})</h2>\n<p>${title}.</p>\n<p>${todo.replaceAll(/`(.+?)`/g, '<code>$1</code>')}</p>`,
  )
  .join('\n')}
</html>
`;

/** One refused value: its path (`start.project_id`, `batch[3].mode`; empty for the body itself) and the reason. */
export interface Violation {
  path: string;
  message: string;
}

interface Details {
  errors?: (Violation & { id?: string; code?: ErrorCode; line?: number; field?: string })[];
  headers?: Record<string, string>;
  /** Additional members of the problem document. */
  extra?: Record<string, unknown>;
  cause?: unknown;
  /** True when the caller is over a limit, so that many of its refusals are answered late. */
  isOverLimit?: boolean;
}

/**
 * Thrown by services when the request is at fault and not the service. The message is sent to the client as `detail`.
 */
export class ApiError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Details = {},
  ) {
    super(message, { cause: details.cause });
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Returns the error for one or more refused fields. `detail` describes the first one. */
export function invalidRequest(errors: NonNullable<Details['errors']>): ApiError {
  const [first] = errors;
  const detail = first ? `${first.path} ${first.message}`.trim() : 'the request is not valid';
  return new ApiError('invalid_request', detail, { errors });
}

/** A refusal over a rate, until `ms` milliseconds have passed. */
export const rateLimited = (
  message: string,
  ms: number,
  extra: Record<string, unknown> = {},
): ApiError =>
  new ApiError('rate_limited', message, {
    headers: { 'Retry-After': String(Math.ceil(ms / 1000)) },
    extra,
    isOverLimit: true,
  });

/** A conflict that clients must not retry. Generated clients would otherwise retry a 409. */
export const finalConflict = (message: string, extra: Record<string, unknown> = {}): ApiError =>
  new ApiError('conflict', message, { headers: { 'x-should-retry': 'false' }, extra });

/** @throws ApiError when the list is not empty */
export function assertNone(violations: Violation[]): void {
  if (violations.length > 0) throw invalidRequest(violations);
}

export interface RefusedItem {
  error: { code: ErrorCode; detail: string };
}

export function refusedItem(error: unknown): RefusedItem {
  const { code, message } = toApiError(error);
  return { error: { code, detail: message } };
}

const isRefusedItem = (answer: unknown): answer is RefusedItem =>
  isObject(answer) && 'error' in answer;

/**
 * Refuses the whole batch when one of its items was refused. Some clients do not read the body of a 200. They resend
 * halves of a refused batch until they have found the refused items. Accepted items stay stored, so every item must be
 * safe to send again.
 * @throws ApiError `items_refused`, or `too_large` when every refused item is too large
 */
export function assertNoneRefused(batch: readonly unknown[], answers: readonly unknown[]): void {
  const errors = answers.flatMap((answer, i) => {
    if (!isRefusedItem(answer)) return [];
    const { code, detail } = answer.error;
    const id = (batch[i] as { id?: unknown } | null)?.id;
    const path = `batch[${i}]`;
    const message = detail.startsWith(path) ? detail.slice(path.length + 1) : detail;
    return [{ path, ...(typeof id === 'string' && { id: id.slice(0, 256) }), code, message }];
  });
  const [first] = errors;
  if (!first) return;
  const isTooLarge = errors.every(({ code }) => code === 'too_large');
  const named = first.id === undefined ? first.path : `${first.path} (id ${first.id})`;
  const others = errors.length < batch.length ? ', the others are stored' : '';
  throw new ApiError(
    isTooLarge ? 'too_large' : 'items_refused',
    `${errors.length} of ${batch.length} items refused${others}: ${named}: ${first.message}`,
    { errors },
  );
}

/** Seconds after which a client may retry when the database is unreachable or a queue is full. */
const RETRY_AFTER_S = '1';

export const unavailable = (message: string, cause?: unknown) =>
  new ApiError('unavailable', message, { headers: { 'Retry-After': RETRY_AFTER_S }, cause });

/** Converts every thrown value to the error that the client receives. No other function does this. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof HttpException) return fromNest(error);
  if (error instanceof InvalidQuery)
    return invalidRequest([{ path: error.path, message: error.problem }]);
  if (error instanceof Busy) return unavailable(error.message);
  if (error instanceof RowTooLarge) return new ApiError('too_large', error.message);
  if (error instanceof TooDeep) return new ApiError('invalid_request', error.message);
  if (error instanceof JsonLimit)
    return new ApiError(error.isDepth ? 'invalid_request' : 'too_large', error.message);
  return fromForeign(error);
}

/** Matches Nest's message for an unknown route. */
const NO_ROUTE = /^Cannot ([A-Z]+) (\/[^?]*)/;

function fromNest(error: HttpException): ApiError {
  const [, method, path] = NO_ROUTE.exec(error.message) ?? [];
  if (path === undefined) return fromStatus(error.getStatus(), error.message);
  const detail = `${method} ${path.slice(0, 200)} is not an operation of this service: /openapi.json lists the operations`;
  return new ApiError('not_found', detail);
}

/** Converts errors of Express, the PostgreSQL driver and PostgreSQL. */
function fromForeign(error: unknown): ApiError {
  const { code, status, message } = (error ?? {}) as ForeignError;
  if (message?.startsWith('timeout exceeded when trying to connect'))
    return unavailable(
      'the database cannot be reached, or all connections to it are in use',
      error,
    );
  if (isConnectionError(error)) return unavailable('the database cannot be reached', error);
  if (code === 'ERR_STRING_TOO_LONG')
    return new ApiError('too_large', 'the answer has a row of over 512 MiB', { cause: error });
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return fromSqlState(code, error);
  if (typeof status === 'number' && status < 500) return fromStatus(status, message ?? '');
  return new ApiError('internal', INTERNAL, { cause: error });
}

interface ForeignError {
  code?: unknown;
  status?: number;
  message?: string;
}

const INTERNAL = 'the service failed; the request id names the entry in its log';

/** True when the connection to PostgreSQL failed, so that the outcome of the statement is unknown. */
export function isConnectionError(error: unknown): boolean {
  const { code, message, severity } = (error ?? {}) as Record<string, unknown>;
  return (
    severity === 'FATAL' || // the server ended or refused the session
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'ENOTFOUND'].includes(
      String(code),
    ) ||
    /^Connection terminated|^timeout exceeded when trying to connect|^Client has encountered a connection error|^Cannot use a pool after calling end|^Query read timeout|^no host of the database is/.test(
      String(message),
    )
  );
}

function fromStatus(status: number, message: string): ApiError {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const code =
    status === 400
      ? 'invalid_request'
      : (codes.find((name) => ERRORS[name].status === status) ??
        (status < 500 ? 'invalid_request' : 'internal'));
  return new ApiError(code, code === 'internal' ? INTERNAL : message);
}

const NO_WRITES = 'the database takes no writes now: its disk is nearly full, or it is read-only';

/** Messages for failures of the database itself, keyed by SQLSTATE. The first match is used. */
const TROUBLE: [RegExp, string][] = [
  [/^25006$/, NO_WRITES],
  [/^53100$/, 'the disk of the database is full: it needs room before it can go on'],
  [/^53200$/, 'the database has no memory left for this'],
  [/^58030$/, 'the database cannot read or write its disk'],
  [/^57P/, 'the database is starting, stopping or recovering'],
  [/^(08|53|40)/, 'the database is not available'],
];

/** Converts an SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
function fromSqlState(state: string, cause: unknown): ApiError {
  if (state === '23505') return new ApiError('conflict', 'a record with this id already exists');
  if (state === '22SKH')
    return new ApiError(
      'legal_hold',
      `the legal hold ${JSON.stringify((cause as { detail?: string }).detail)} keeps a call as it is: it stays in its trace and thread, and its inputs and output are not replaced`,
    );
  if (isRowError({ code: state }))
    return new ApiError('invalid_request', 'a value cannot be stored', { cause });
  if (state === 'SK413')
    return new ApiError(
      'too_large',
      `the query names so many values of a row that each may have ${(cause as { detail?: string }).detail} bytes, and one has more: name fewer values at once`,
    );
  if (isTimeout({ code: state }))
    return unavailable('a statement of the database took longer than its limit', cause);
  const trouble = TROUBLE.find(([states]) => states.test(state));
  if (trouble) return unavailable(trouble[1], cause);
  // PostgreSQL reports a read-only file system as a missing permission.
  if (state === '42501' && /Read-only file system/.test((cause as Error).message))
    return unavailable(NO_WRITES, cause);
  // Citus has no code of its own for a node that is lost during a statement.
  if (state === 'XX000' && LOST_NODE.test((cause as Error).message))
    return unavailable('a node of the database is not available', cause);
  return new ApiError('internal', INTERNAL, { cause });
}

const LOST_NODE =
  /^(failure on connection marked as essential|could not commit transaction for shard)/;

/** True when PostgreSQL cancelled a statement because it ran, or waited for a lock, for too long. */
export function isTimeout(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === '57014' || code === '55P03';
}

/** True when a statement exceeded the memory of its PostgreSQL process. One row of many may be too large. */
export function isOutOfMemory(error: unknown): boolean {
  return ((error ?? {}) as { code?: unknown }).code === '53200';
}

/** True when a row with the same key is already stored. */
export function isConflict(error: unknown): boolean {
  return ((error ?? {}) as { code?: unknown }).code === '23505';
}

/**
 * True when PostgreSQL refused a row of a `COPY` because of its key or its data. When a worker node refuses a row,
 * Citus forwards only the message and not the code.
 */
export function isRowOfCopy(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  return (
    isConflict(error) || isRowError(error) || (code === 'XX000' && !LOST_NODE.test(message ?? ''))
  );
}

/**
 * True when PostgreSQL refused the data of a row (class 22, or nested too deeply). Other rows of the same statement may
 * be valid.
 */
export function isRowError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return (
    typeof code === 'string' && (code.startsWith('22') || code === '54001' || code === '54000')
  );
}
