import type { FoldedSpanKey } from '../../tracing/calls/folded/folded-spans.service.js';
import type { WholeCall } from '../../tracing/calls/calls.service.js';
import { AGENT_SPANS } from '../../tracing/conventions/agent-events.js';
import type { Evaluation } from './evaluations.js';
import type { toCall } from './span-call.js';

/**
 * Limits of a part. Spans and log messages are stored in parts, because a resource may be repeated in thousands of
 * calls, and the data that waits in memory must be bounded.
 */
export const PART_CALLS = 500;
export const PART_CHARACTERS = 4 * 1024 * 1024;

export interface ConvertedSpan extends WholeCall {
  call: ReturnType<typeof toCall>['call'];
  evaluations: Evaluation[];
}

export class SpanPart {
  readonly calls: ConvertedSpan[] = [];
  /** Ids of traces in which turns may change, keyed by project. */
  readonly turnTraces = new Map<string, Set<string>>();
  /** Ids of traces with spans of a coding agent, keyed by project. Such traces may also have events. */
  readonly agentTraces = new Map<string, Set<string>>();
  readonly evaluations: Evaluation[] = [];
  /** Spans that are not stored, keyed by project. */
  readonly folded = new Map<string, FoldedSpanKey[]>();
  /** Ids of traces with folded spans, or with calls that may lie below folded spans, keyed by project. */
  readonly belowTraces = new Map<string, Set<string>>();
  private characters = 0;
  private foldedCount = 0;

  get length(): number {
    return this.calls.length + this.foldedCount;
  }

  fold({ call: { project_id, id, parent_id: parentId, trace_id } }: ConvertedSpan): void {
    const folded = this.folded.get(project_id);
    if (folded) folded.push({ id, parentId });
    else this.folded.set(project_id, [{ id, parentId }]);
    noteTrace(this.belowTraces, project_id, trace_id);
    this.foldedCount++;
  }

  noteTurn(projectId: string, traceId: string): void {
    noteTrace(this.turnTraces, projectId, traceId);
  }

  add(call: ConvertedSpan): void {
    this.calls.push(call);
    this.evaluations.push(...call.evaluations);
    this.characters += countCharacters(call);
    const { project_id, trace_id, parent_id, op_name } = call.call;
    if (AGENT_SPANS.includes(op_name)) noteTrace(this.agentTraces, project_id, trace_id);
    if (parent_id !== null) noteTrace(this.belowTraces, project_id, trace_id);
    noteTrace(this.turnTraces, project_id, trace_id);
  }

  hasRoomFor(call: ConvertedSpan): boolean {
    if (this.calls.length === 0) return true;
    const characters = this.characters + countCharacters(call);
    return this.calls.length < PART_CALLS && characters <= PART_CHARACTERS;
  }
}

function noteTrace(traces: Map<string, Set<string>>, projectId: string, traceId: string): void {
  const traceIds = traces.get(projectId);
  if (traceIds) traceIds.add(traceId);
  else traces.set(projectId, new Set([traceId]));
}

const countCharacters = ({ documents }: WholeCall) =>
  Object.values(documents).reduce((sum, text) => sum + text.length, 0);
