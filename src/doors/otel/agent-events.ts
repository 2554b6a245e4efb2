import type { WholeCall } from '../../tracing/calls/calls.service.js';
import type { AgentColumns } from '../../tracing/conventions/agent-columns.js';
import {
  ANSWER_EVENT,
  eventCallId,
  type ParsedAgentEvent,
  parseAgentEvent,
  readText,
} from './parsed-agent-event.js';
import { EVENT_PARTS, type EventParts } from './agent-event-parts.js';
import { toContent } from './attributes.js';
import type { Origin } from './otlp.js';
import type { LogRecord } from './otlp-logs.js';
import { describeOrigin, toTimestamp } from './span-call.js';

export interface AgentEvent {
  projectId: string;
  session: string;
  /** Start of the event, in ISO 8601. */
  from: string;
  call: WholeCall | null;
  /** Texts of the assistant, each for one call: that of the model or that of the prompt. */
  answers: { traceId: string; callId: string; at: string; value: string }[];
}

/**
 * Returns null when the record is not an event of a coding agent that Skein stores.
 * @throws Error when the record has no time
 */
export function readAgentEvent(
  record: LogRecord,
  origin: Origin,
  findProject: () => string,
): AgentEvent | null {
  const event = parseAgentEvent(record, origin);
  if (!event) return null;
  const projectId = findProject();
  if (event.name === ANSWER_EVENT) return answerEvent(event, projectId);
  return wholeEvent(event, EVENT_PARTS[event.name]!(event), projectId);
}

/** Returns the text of an assistant. It belongs to the call of its request and to the call of the prompt. */
function answerEvent(event: ParsedAgentEvent, projectId: string): AgentEvent | null {
  const { own, session, at, turnId } = event;
  const text = readText(own.get('response'));
  if (text === undefined || turnId === null) return null;
  const requestId = readText(own.get('request_id'));
  const request =
    requestId === undefined
      ? null
      : eventCallId({ ...event, name: 'claude_code.api_request' }, requestId);
  return {
    projectId,
    session,
    from: toTimestamp(`${at}`, 'timeUnixNano'),
    call: null,
    answers: answersTo(event, [request, turnId], text),
  };
}

const answersTo = (
  { traceId: trace, at }: ParsedAgentEvent,
  callIds: readonly (string | null)[],
  text: string,
): AgentEvent['answers'] =>
  callIds.flatMap((id) =>
    id === null
      ? []
      : {
          traceId: trace,
          callId: id,
          at: `${at}`.padStart(20, '0'),
          value: JSON.stringify({ role: 'assistant', content: text }),
        },
  );

function wholeEvent(event: ParsedAgentEvent, made: EventParts, projectId: string): AgentEvent {
  const { session, at, turnId } = event;
  const duration = BigInt(Math.round((made.duration_ms ?? 0) * 1e6));
  const from = toTimestamp(`${duration < at ? at - duration : at}`, 'timeUnixNano');
  const start = {
    project_id: projectId,
    id: made.id,
    trace_id: event.traceId,
    parent_id: event.isPrompt ? null : turnId,
    op_name: event.name,
    display_name: made.display_name?.slice(0, MAX_NAME) ?? null,
    started_at: from,
    thread_id: session,
    turn_id: turnId,
  };
  const documents = {
    attributes: attributesText(event, made),
    inputs: JSON.stringify(made.inputs ?? {}),
  };
  const whole = made.isOpen ? { call: start, documents } : endedCall(event, made, start, documents);
  return {
    projectId,
    session,
    from,
    call: { ...whole, responseId: made.responseId ?? null, agent: agentColumns(event, made) },
    answers: made.answer === undefined ? [] : answersTo(event, [turnId], made.answer),
  };
}

function endedCall(
  { at }: ParsedAgentEvent,
  made: EventParts,
  start: object,
  documents: { attributes: string; inputs: string },
): Pick<WholeCall, 'call' | 'documents'> {
  const summary = made.usage ? { usage: made.usage } : {};
  const ended_at = toTimestamp(`${at}`, 'timeUnixNano');
  const exception = made.exception?.replaceAll('\0', '') ?? null;
  const output = toContent(made.output ?? null).text;
  return {
    call: { ...start, ended_at, exception, summary },
    documents: { ...documents, output, summary: JSON.stringify(summary) },
  };
}

const MAX_NAME = 256;

function attributesText({ origin, own }: ParsedAgentEvent, made: EventParts): string {
  const taken = new Set(made.taken);
  return JSON.stringify({
    ...describeOrigin(origin),
    ...Object.fromEntries([...own].filter(([key]) => !taken.has(key))),
    ...made.more,
  });
}

/** Returns the columns about the agent. An event names its agent if it is a prompt or the work of a subagent. */
function agentColumns(
  { agent, own, resource, isPrompt, linkedId }: ParsedAgentEvent,
  made: EventParts,
): AgentColumns {
  const named = isPrompt ? agent.name : readText(own.get('agent.name'));
  const version = isPrompt ? readText(agent.version(own, resource)) : undefined;
  return {
    operation: made.operation ?? '',
    agent_name: named?.slice(0, MAX_NAME) ?? null,
    agent_version: version?.slice(0, MAX_NAME) ?? null,
    linked_call_id: linkedId,
  };
}
