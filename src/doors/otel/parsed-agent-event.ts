import { createHash } from 'node:crypto';
import { AGENT_EVENTS } from '../../tracing/conventions/agent-events.js';
import { type Attributes, readAttributes } from './attributes.js';
import { recordTime } from './log-messages.js';
import type { Origin } from './otlp.js';
import type { LogRecord } from './otlp-logs.js';
import { isHexId } from './span-call.js';

/** A coding agent whose log records are events. `session`, `prompt` and `version` read these values from a record. */
interface CodingAgent {
  name: string;
  /** Prefix of the names of its events. An agent that omits the prefix is recognized by its scope. */
  prefix: string;
  scope?: string;
  session: string;
  prompt?: string;
  provider: string;
  version: (own: Attributes, resource: Attributes) => unknown;
  /** True when a record has the trace of its turn's span. */
  hasTurnTrace: boolean;
}

const AGENTS: readonly CodingAgent[] = [
  // Claude Code 2.1.332: event.name is `user_prompt`, the body `claude_code.user_prompt`; prompt.id since 2.1.7x
  {
    name: 'claude-code',
    prefix: 'claude_code.',
    scope: 'com.anthropic.claude_code.events',
    session: 'session.id',
    prompt: 'prompt.id',
    provider: 'anthropic',
    version: (_, resource) => resource.get('service.version'),
    hasTurnTrace: true,
  },
  // Codex 0.171: names no prompt, and has only observedTimeUnixNano
  {
    name: 'codex',
    prefix: 'codex.',
    session: 'conversation.id',
    provider: 'openai',
    version: (own) => own.get('app.version'),
    hasTurnTrace: true,
  },
  // Gemini CLI 0.61: each request is a trace; service.version is the version of Node
  {
    name: 'gemini-cli',
    prefix: 'gemini_cli.',
    session: 'session.id',
    prompt: 'prompt_id',
    provider: 'google',
    version: () => undefined,
    hasTurnTrace: false,
  },
];

/** The answer of an assistant. Its event is separate from the event of its call. */
export const ANSWER_EVENT = 'claude_code.assistant_response';
/** Events of a streamed answer. Only its end and its errors are kept. */
const STREAM = 'codex.sse_event';

interface NamedEvent {
  agent: CodingAgent;
  name: string;
}

function namedEvent(record: LogRecord, own: Attributes, { scope }: Origin): NamedEvent | null {
  const said = [own.get('event.name'), record.eventName, record.body?.stringValue];
  const names = said.filter((name) => typeof name === 'string');
  for (const agent of AGENTS) {
    const whole = names.find((name) => name.startsWith(agent.prefix));
    const part = agent.scope !== undefined && scope.name === agent.scope ? names[0] : undefined;
    const name = whole ?? (part === undefined ? undefined : agent.prefix + part);
    if (name !== undefined && (name === ANSWER_EVENT || Object.hasOwn(AGENT_EVENTS, name)))
      return { agent, name };
  }
  return null;
}

export const readNumber = (value: unknown): number | undefined => {
  const count = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof count === 'number' && Number.isFinite(count) && count >= 0 ? count : undefined;
};
export const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const digest = (...parts: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');
const callId = (...parts: unknown[]) => digest(...parts).slice(0, 16);
const madeTraceId = (...parts: unknown[]) => digest(...parts).slice(0, 32);

/** Returns the time in nanoseconds. A record without a time has the timestamp of its event. */
function eventTime(record: LogRecord, own: Attributes): bigint {
  const time = BigInt(recordTime(record));
  if (time > 0n) return time;
  const told = Date.parse(readText(own.get('event.timestamp')) ?? '');
  if (Number.isNaN(told)) throw new Error('timeUnixNano is required');
  return BigInt(told) * 1_000_000n;
}

export interface ParsedAgentEvent extends NamedEvent {
  own: Attributes;
  origin: Origin;
  session: string;
  prompt: string | undefined;
  at: bigint;
  /** Id of the prompt's call, if the event names its prompt. */
  turnId: string | null;
  traceId: string;
  resource: Attributes;
  isPrompt: boolean;
  /** The span in which a prompt was recorded: that of its turn, or one of the application that runs the agent. */
  linkedId: string | null;
}

/**
 * Returns null when the record is not an event of a coding agent that Skein stores. Ids are digests of the event, so a
 * record that is sent again becomes the same call.
 * @throws Error when the record has no time
 */
export function parseAgentEvent(record: LogRecord, origin: Origin): ParsedAgentEvent | null {
  const own = readAttributes(record.attributes);
  const named = namedEvent(record, own, origin);
  if (!named || isOfStream(named.name, own)) return null;
  const resource = readAttributes(origin.resource.attributes);
  const session = readText(own.get(named.agent.session) ?? resource.get(named.agent.session));
  if (session === undefined) return null;
  const at = eventTime(record, own);
  return {
    ...named,
    own,
    resource,
    origin,
    session,
    at,
    ...turnOf(named, record, { own, session, at }),
  };
}

function turnOf(
  { agent, name }: NamedEvent,
  record: LogRecord,
  { own, session, at }: Pick<ParsedAgentEvent, 'own' | 'session' | 'at'>,
) {
  const prompt = agent.prompt === undefined ? undefined : readText(own.get(agent.prompt));
  const isPrompt = AGENT_EVENTS[name] === 'prompt';
  const turn = prompt ?? (isPrompt ? `${at}` : undefined);
  const traced = agent.hasTurnTrace ? recordSpan(record) : null;
  return {
    prompt,
    isPrompt,
    turnId: turn === undefined ? null : callId(agent.name, session, 'prompt', turn),
    traceId:
      traced?.traceId ??
      madeTraceId(agent.name, session, turn ?? [name, `${at}`, own.get('call_id')]),
    linkedId: isPrompt && traced ? traced.spanId : null,
  };
}

function recordSpan({ traceId = '', spanId = '' }: LogRecord) {
  return isHexId(traceId, 32) ? { traceId, spanId: isHexId(spanId, 16) ? spanId : null } : null;
}

const isOfStream = (name: string, own: Attributes): boolean =>
  name === STREAM &&
  readNumber(own.get('input_token_count')) === undefined &&
  readText(own.get('error.message')) === undefined;

export const eventCallId = (
  { agent, session, prompt, name }: ParsedAgentEvent,
  ...parts: unknown[]
) => callId(agent.name, session, prompt ?? null, name, ...parts);

/** Returns values that distinguish events without an id. */
export const eventPlace = ({ own, at }: ParsedAgentEvent) => [
  `${at}`,
  own.get('event.sequence') ?? null,
];
