import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../platform/auth/caller.js';
import { WIRE } from '../../../platform/http/wire-names.js';
import { isObject } from '../../../platform/json/json-object.js';
import { hasOpaqueEscapes } from '../../../platform/json/json-grammar.js';
import { type Texts } from '../../../platform/json/json-text.js';
import { countsGross, storedUsage } from '../../usage/stored-usage.js';
import type { CallEndDto, CallStartDto } from '../calls.dto.js';
import { attributesIn, type CallSource, ownSource } from '../source/call-source.js';
import { agentOf } from './agent-columns.js';
import type { AgentColumns, CallWrite } from './calls.upsert.js';
import { cutException } from './text-repair.js';
import { responseIdOf } from './response-id.js';

/** The free-form members of a start or an end, as they were sent. */
export type DocumentTexts = Texts<typeof CALL_SHAPE>;

export const START_SHAPE = { attributes: true, inputs: true, otel_dump: true } as const;
export const END_SHAPE = { summary: true, output: true } as const;
export const CALL_SHAPE = { ...START_SHAPE, ...END_SHAPE } as const;

/** What a start has beside its body. */
interface StartExtras {
  newTrace?: (start: CallStartDto) => string;
  /** Columns that the attributes of a span fill; undefined where no door has read them. */
  agent?: AgentColumns | null | undefined;
  /** The source that the span says itself; undefined where it is to be read from the attributes. */
  source?: CallSource | null | undefined;
  /** When the events were made that gave the call its members. */
  eventTimes?: string | undefined;
  /** Whether it is a turn follows from where it stands: `turnChanges`. */
  movesTurn?: boolean | undefined;
}

/** What is stored of a start. A start that names no trace gets `newTrace` unless an earlier write knows better. */
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
      run_id: start[WIRE.runId],
      run_step: start[WIRE.runStep]?.toString(),
      user_id: caller.userName,
      new_trace: newTraceOf(start, newTrace),
      attributes: attributes ?? '{}',
      inputs: inputs ?? '{}',
      otel_dump: otelDump,
      counts_gross: flag(countsGross(memberText(start, 'attributes', attributes, 'weave'))),
      ...(agent === undefined ? plainAgent(start) : agent),
      own_source: sourceOf(start, attributes, source),
      event_times: eventTimes,
    },
    isOpaque: isOpaque(attributes, inputs, otelDump),
  };
}

/** The source that a call says itself: `known`, or by the parsed copy of its attributes, or their text where a door gives texts alone. */
function sourceOf(
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

/** Columns of a call that is no span, whose attributes say what it does as a span's would. */
function plainAgent(start: CallStartDto): AgentColumns | null {
  const { attributes } = start as { attributes?: unknown };
  if (!isObject(attributes)) return null;
  return agentOf(
    (name) => (Object.hasOwn(attributes, name) ? attributes[name] : undefined),
    start.op_name,
  );
}

/** What is stored of an end. */
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
      run_step_end: end[WIRE.runStepEnd]?.toString(),
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

/** A free-form member that is null is stored as one that is absent. */
const unlessNull = (document: string | undefined) => (document === 'null' ? null : document);

const isOpaque = (...documents: (string | null | undefined)[]): boolean =>
  documents.some((document) => document && hasOpaqueEscapes(document));

/** A member of a document: of the parsed copy, or of the text where a door gives texts alone. */
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

/** The provider's id of an output that holds one: of the parsed copy, or of the text where a door gives texts alone. */
function responseIn(end: CallEndDto, text: string | null | undefined): string | null {
  if (Object.hasOwn(end, 'output')) return responseIdOf(end.output);
  return text?.includes('"id"') ? responseIdOf(JSON.parse(text)) : null;
}

/** `summary.status_counts.error > 0`. */
function hasDescendantError(summary: CallEndDto['summary']): boolean {
  const { status_counts: counts } = (summary ?? {}) as {
    status_counts?: { error?: unknown } | null;
  };
  return typeof counts?.error === 'number' && counts.error > 0;
}
