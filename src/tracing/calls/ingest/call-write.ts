import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../platform/auth/caller.js';
import { isObject } from '../../../platform/json/json-object.js';
import { hasOpaqueEscapes } from '../../../platform/json/json-grammar.js';
import { type Texts } from '../../../platform/json/json-text.js';
import { countsGross, storedUsage } from '../../usage/stored-usage.js';
import type { CallEndDto, CallStartDto } from '../calls.dto.js';
import { attributesIn, type CallSource, ownSource } from '../../conventions/call-source.js';
import { type AgentColumns, agentOf } from '../../conventions/agent-columns.js';
import type { CallWrite } from './calls.upsert.js';
import { cutException } from './text-repair.js';
import { responseIdOf } from '../../conventions/response-id.js';

/** Free-form members of a start or an end, as they were sent. */
export type DocumentTexts = Texts<typeof CALL_SHAPE>;

export const START_SHAPE = { attributes: true, inputs: true, otel_dump: true } as const;
export const END_SHAPE = { summary: true, output: true } as const;
export const CALL_SHAPE = { ...START_SHAPE, ...END_SHAPE } as const;

/** Values of a start that its body does not hold. */
interface StartExtras {
  newTrace?: (start: CallStartDto) => string;
  /** Columns read from the attributes of a span. Undefined if no door has read them. */
  agent?: AgentColumns | null | undefined;
  /** The source that the span states itself. Undefined if it must be read from the attributes. */
  source?: CallSource | null | undefined;
  /** Times of the events from which the members of the call come. */
  eventTimes?: string | undefined;
  /** If true, the position in the trace decides whether the call is a turn: `turnChanges`. */
  movesTurn?: boolean | undefined;
}

/**
 * Returns the write for a start. A start that names no trace gets `newTrace`, unless an earlier write has set a trace.
 */
export function startWrite(
  start: CallStartDto,
  documents: DocumentTexts | undefined,
  caller: Caller,
  { newTrace = () => uuidv7(), agent, source, eventTimes, movesTurn }: StartExtras = {},
): CallWrite {
  const id = start.id ?? uuidv7();
  const attributes = unlessNull(documents?.attributes);
  const inputs = unlessNull(documents?.inputs);
  const otelDump = unlessNull(documents?.otel_dump);
  const span = agentColumns(start, agent);
  return {
    projectId: start.project_id,
    id,
    traceId: start.trace_id,
    start: {
      op_name: start.op_name,
      started_at: start.started_at,
      display_name: start.display_name,
      trace_id: start.trace_id,
      parent_id: start.parent_id,
      is_orphan: null,
      thread_id: start.thread_id,
      turn_id: start.turn_id,
      thread_source: movesTurn ? '' : null,
      run_id: start.svc_run_id,
      run_step: start.svc_run_step?.toString(),
      user_id: caller.userName,
      new_trace: newTraceOf(start, newTrace),
      attributes: attributes ?? '{}',
      inputs: inputs ?? '{}',
      otel_dump: otelDump,
      counts_gross: flag(countsGross(memberText(start, 'attributes', attributes, 'weave'))),
      operation: span.operation,
      agent_name: span.agent_name,
      agent_version: span.agent_version,
      linked_call_id: span.linked_call_id,
      source: null,
      own_source: statedSource(start, attributes, source),
      event_times: eventTimes,
    },
    isOpaque: isOpaque(attributes, inputs, otelDump),
  };
}

/**
 * Returns the source that a call states itself: `known`, else the one in its attributes. Reads the parsed attributes,
 * or their text if a door passes only texts.
 */
function statedSource(
  start: CallStartDto,
  text: string | null | undefined,
  known: CallSource | null | undefined,
): CallSource | null {
  if (known !== undefined) return known;
  const { op_name: opName, parent_id } = start;
  const attributes = Object.hasOwn(start, 'attributes')
    ? Object.entries(start.attributes ?? {})
    : attributesIn(text);
  return ownSource({ opName, isTop: !parent_id, attributes });
}

/** Returns `known`, else the columns of a call that is no span. Its attributes are read like those of a span. */
function agentColumns(
  start: CallStartDto,
  known: AgentColumns | null | undefined,
): Partial<AgentColumns> {
  if (known !== undefined) return known ?? {};
  const { attributes } = start as { attributes?: unknown };
  if (!isObject(attributes)) return {};
  const read = (name: string) => (Object.hasOwn(attributes, name) ? attributes[name] : undefined);
  return agentOf(read, start.op_name) ?? {};
}

export function endWrite(
  end: CallEndDto,
  documents: DocumentTexts | undefined,
  responseId?: string | null,
): CallWrite {
  const summary = unlessNull(documents?.summary);
  const output = unlessNull(documents?.output);
  const usage = storedUsage(memberText(end, 'summary', summary, 'usage'));
  return {
    projectId: end.project_id,
    id: end.id,
    end: {
      ended_at: end.ended_at,
      exception: end.exception && cutException(end.exception),
      run_step_end: end.svc_run_step_end?.toString(),
      end_started_at: end.started_at,
      end_trace_id: end.trace_id,
      has_descendant_error: hasDescendantError(end.summary) ? 'true' : null,
      response_id: responseId === undefined ? usage && responseIn(end, output) : responseId,
      summary,
      output,
      usage: usage && JSON.stringify(usage),
    },
    isOpaque: isOpaque(summary, output),
  };
}

const newTraceOf = (start: CallStartDto, newTrace: (start: CallStartDto) => string) =>
  start.trace_id ? null : newTrace(start);

const flag = (isSet: boolean) => (isSet ? 'true' : null);

const unlessNull = (document: string | undefined) => (document === 'null' ? null : document);

const isOpaque = (...documents: (string | null | undefined)[]): boolean =>
  documents.some((document) => document && hasOpaqueEscapes(document));

/** Returns a member of a document. Reads the parsed document, or its text if a door passes only texts. */
function memberText(
  call: CallStartDto | CallEndDto,
  name: 'attributes' | 'summary',
  text: string | null | undefined,
  member: string,
): unknown {
  const copy: unknown = Object.hasOwn(call, name)
    ? (call as unknown as Record<string, unknown>)[name]
    : text?.includes(`"${member}"`) && JSON.parse(text);
  return isObject(copy) ? copy[member] : undefined;
}

/**
 * Returns the provider's id of a response from the output. Reads the parsed output, or its text if a door passes only
 * texts.
 */
function responseIn(end: CallEndDto, text: string | null | undefined): string | null {
  if (Object.hasOwn(end, 'output')) return responseIdOf(end.output);
  return text?.includes('"id"') ? responseIdOf(JSON.parse(text)) : null;
}

function hasDescendantError(summary: CallEndDto['summary']): boolean {
  const { status_counts: counts } = (summary ?? {}) as {
    status_counts?: { error?: unknown } | null;
  };
  return typeof counts?.error === 'number' && counts.error > 0;
}
