import type { Config } from '../../platform/config/config.js';
import { invalidRequest } from '../../platform/errors.js';
import type { Context } from '../../platform/http/context.js';
import {
  isId,
  isProjectId,
  isThreadId,
  MAX_THREAD_BYTES,
  PROJECT_ID_RULE,
} from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';
import { skipValue } from '../../platform/json/json-grammar.js';

/** Decides what happens to a request that cannot be recorded. With `none`, nothing is recorded. */
export type RecordMode = Config['gatewayRecord'] | 'none';

export interface CallContext {
  projectId: string;
  traceId: string | null;
  parentId: string | null;
  threadId: string | null;
  turnId: string | null;
  /** Attributes that the client sends, as the JSON text of an object. */
  attributes: string;
}

const PROJECT_HEADER = 'x-skein-project';
/** Attributes are sent in a header, and all headers of a request together have at most 16,384 bytes. */
export const MAX_ATTRIBUTES_BYTES = 8192;

/** Headers by which clients and other gateways name a session, in the order of precedence. */
const SESSION_HEADERS = [
  'x-litellm-session-id', // LiteLLM 1.110: https://docs.litellm.ai/docs/proxy/request_headers
  'x-litellm-trace-id', // the older name in LiteLLM
  'helicone-session-id', // Helicone: https://docs.helicone.ai/features/sessions
  'langfuse_session_id', // LiteLLM 1.110, for Langfuse
  'x-openwebui-chat-id', // Open WebUI 0.6, ENABLE_FORWARD_USER_INFO_HEADERS
  'x-session-id', // OpenCode 1.18, OpenRouter, LLM Gateway
  'x-conversation-id',
  'x-thread-id', // LangDB
  'session-id', // Codex from 0.8x on: codex-rs `build_session_headers`
  'session_id', // older versions of Codex
  'thread-id', // Codex from 0.8x on
  'conversation_id', // Codex before 0.4x
];
/**
 * Headers such as `x-claude-code-session-id` (Claude Code 2.1), `x-qwen-code-session-id` and `x-cagent-session-id`, as
 * LiteLLM 1.110 reads them.
 */
const VENDOR_SESSION_HEADER = /^x-(?!parent-).+-session-id$/;
/** Entries of W3C baggage that name a session: OpenTelemetry 1.37, the SDK of Mistral. */
const BAGGAGE_SESSION = /(?:^|,)\s*(?:gen_ai\.conversation|session)\.id\s*=\s*([^,;\s]+)/;

/**
 * Returns the session that a request names in the way of other clients and gateways. The session becomes the thread.
 * Returns null when no valid thread id is named. Members of the body: `litellm_session_id` (LiteLLM 1.110, also within
 * `metadata`), `session_id` (OpenRouter), `conversation` (OpenAI's Responses API).
 */
export function namedSession(context: Context, body: Record<string, unknown>): string | null {
  const vendors = Object.keys(context.headers).filter((name) => VENDOR_SESSION_HEADER.test(name));
  const headers = [...SESSION_HEADERS.slice(0, 2), ...vendors, ...SESSION_HEADERS.slice(2)];
  const { litellm_metadata, metadata, conversation } = body;
  const objects = [body, litellm_metadata, metadata].filter(isObject);
  const named = (name: string) => objects.map((object) => object[name]);
  const names = [
    ...headers.map((name) => header(context, name)),
    decodeHeader(BAGGAGE_SESSION.exec(header(context, 'baggage') ?? '')?.[1]),
    ...named('litellm_session_id'),
    ...named('session_id'),
    isObject(conversation) ? conversation['id'] : conversation,
    ...named('litellm_trace_id'),
  ];
  return names.find(isSession) ?? null;
}

const isSession = (value: unknown): value is string =>
  isThreadId(value) && value.trim() !== '' && value !== 'null';

function decodeHeader(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Node decodes headers as Latin-1, but clients send UTF-8. */
function header({ headers }: Context, name: string): string | undefined {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') return undefined;
  const text = Buffer.from(value, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? value : text;
}

/**
 * Returns the project that the header names, else the only project that the key reaches.
 * @throws ApiError `invalid_request`, `forbidden`
 */
export function namedProject(context: Context): string | undefined {
  const { caller } = context;
  const named = header(context, PROJECT_HEADER);
  if (named !== undefined) {
    if (!isProjectId(named))
      throw invalidRequest([{ path: 'X-Skein-Project', message: PROJECT_ID_RULE }]);
    caller.assertReaches(named);
    return named;
  }
  return caller.onlyProject ?? undefined;
}

export function projectRequired(): Error {
  return invalidRequest([
    {
      path: 'X-Skein-Project',
      message: 'must name the project as <entity>/<project>, since the key reaches several',
    },
  ]);
}

/**
 * Reads where the call belongs from the headers. Without a thread in the headers, the body is read too.
 * @throws ApiError `invalid_request`
 */
export function readCallContext(
  context: Context,
  projectId: string,
  body: Record<string, unknown>,
): CallContext {
  const [traceId, spanId] = readTraceParent(header(context, 'traceparent'));
  const parentId = checkedHeader(context, 'X-Skein-Parent-Id', ID) ?? spanId;
  return {
    projectId,
    traceId: checkedHeader(context, 'X-Skein-Trace-Id', ID) ?? traceId,
    parentId,
    threadId: checkedHeader(context, 'X-Skein-Thread-Id', THREAD) ?? namedSession(context, body),
    turnId: checkedHeader(context, 'X-Skein-Turn-Id', THREAD),
    attributes: readAttributes(header(context, 'x-skein-attributes')),
  };
}

/** Reads how strictly the request must be recorded; by default as the settings define. */
export function readRecord(context: Context, { gatewayRecord }: Config): Config['gatewayRecord'] {
  const asked = header(context, 'x-skein-record');
  if (asked === undefined) return gatewayRecord;
  if (asked === 'required' || asked === 'best_effort') return asked;
  throw invalidRequest([{ path: 'X-Skein-Record', message: 'must be required or best_effort' }]);
}

function checkedHeader(context: Context, name: string, [isValid, message]: HeaderRule) {
  const value = header(context, name.toLowerCase()) ?? null;
  if (value === null || isValid(value)) return value;
  throw invalidRequest([{ path: name, message }]);
}

type HeaderRule = [isValid: (value: string) => boolean, message: string];
const ID: HeaderRule = [isId, 'must be 1 to 256 characters'];
const THREAD: HeaderRule = [isThreadId, `must have at most ${MAX_THREAD_BYTES} bytes`];

/**
 * See https://www.w3.org/TR/trace-context/#traceparent-header. An invalid value is ignored, as the specification
 * requires.
 */
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
