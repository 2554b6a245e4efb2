import type { Config } from '../../platform/config/config.js';
import { invalidRequest } from '../../platform/errors.js';
import type { Context } from '../../platform/http/context.js';
import {
  isId,
  isProjectId,
  isStorable,
  MAX_THREAD_BYTES,
  PROJECT_ID_RULE,
} from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/is-object.js';
import { skipValue } from '../../platform/json/json-grammar.js';

/** What becomes of a request that cannot be recorded; `none` is not recorded at all. */
export type RecordMode = Config['gatewayRecord'] | 'none';

/** Where the call of a request belongs. */
export interface Placement {
  projectId: string;
  traceId: string | null;
  parentId: string | null;
  threadId: string | null;
  turnId: string | null;
  /** What the client says of the call, as JSON text of an object. */
  attributes: string;
}

const PROJECT_HEADER = 'x-skein-project';
/** An attribute takes its place in the head of the request, which has 16,384 bytes. */
export const MAX_ATTRIBUTES_BYTES = 8192;

/** Headers hold bytes; what clients put into them is UTF-8. */
function header({ headers }: Context, name: string): string | undefined {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') return undefined;
  const text = Buffer.from(value, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? value : text;
}

/** The project that the header names, else the only one that the key reaches. @throws ApiError `invalid_request`, `forbidden` */
export function namedProject(context: Context): string | undefined {
  const { caller } = context;
  const named = header(context, PROJECT_HEADER);
  if (named !== undefined) {
    if (!isProjectId(named))
      throw invalidRequest([{ path: 'X-Skein-Project', message: PROJECT_ID_RULE }]);
    caller.assertReaches(named);
    return named;
  }
  const [scope, ...others] = caller.scopes;
  return others.length === 0 && isProjectId(scope) ? scope : undefined;
}

/** A project of its own, where a request names none. */
export function projectRequired(): Error {
  return invalidRequest([
    {
      path: 'X-Skein-Project',
      message: 'must name the project as <entity>/<project>, since the key reaches several',
    },
  ]);
}

/** Where the headers put the call. @throws ApiError `invalid_request` */
export function readPlacement(context: Context, projectId: string): Placement {
  const [traceId, spanId] = readTraceParent(header(context, 'traceparent'));
  const parentId = idHeader(context, 'X-Skein-Parent-Id') ?? spanId;
  return {
    projectId,
    traceId: idHeader(context, 'X-Skein-Trace-Id') ?? traceId,
    parentId,
    threadId: threadHeader(context, 'X-Skein-Thread-Id'),
    turnId: threadHeader(context, 'X-Skein-Turn-Id'),
    attributes: readAttributes(header(context, 'x-skein-attributes')),
  };
}

/** How sure the record of the request is to be. */
export function readRecord(context: Context, { gatewayRecord }: Config): Config['gatewayRecord'] {
  const asked = header(context, 'x-skein-record');
  if (asked === undefined) return gatewayRecord;
  if (asked === 'required' || asked === 'best_effort') return asked;
  throw invalidRequest([{ path: 'X-Skein-Record', message: 'must be required or best_effort' }]);
}

function idHeader(context: Context, name: string): string | null {
  const value = header(context, name.toLowerCase()) ?? null;
  if (value === null || isId(value)) return value;
  throw invalidRequest([{ path: name, message: 'must be 1 to 256 characters' }]);
}

function threadHeader(context: Context, name: string): string | null {
  const value = header(context, name.toLowerCase()) ?? null;
  if (value === null || (isStorable(value) && Buffer.byteLength(value) <= MAX_THREAD_BYTES))
    return value;
  throw invalidRequest([{ path: name, message: `must have at most ${MAX_THREAD_BYTES} bytes` }]);
}

/** https://www.w3.org/TR/trace-context/#traceparent-header. One that is not valid is ignored, as it says. */
function readTraceParent(text: string | undefined): [string | null, string | null] {
  const [, trace, span] =
    /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(text ?? '') ?? [];
  if (trace === undefined || /^0+$/.test(trace) || /^0+$/.test(span!)) return [null, null];
  return [trace, span!];
}

function readAttributes(text: string | undefined): string {
  if (text === undefined) return '{}';
  const fault = attributesFault(text);
  if (fault === undefined) return text;
  throw invalidRequest([{ path: 'X-Skein-Attributes', message: fault }]);
}

function attributesFault(text: string): string | undefined {
  if (Buffer.byteLength(text) > MAX_ATTRIBUTES_BYTES)
    return `must have at most ${MAX_ATTRIBUTES_BYTES} bytes`;
  try {
    if (!isObject(JSON.parse(text))) return 'must be a JSON object';
    skipValue(text, 0, 1);
    return undefined;
  } catch {
    return 'must be a JSON object';
  }
}
