import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { type Folded, FoldedSpans } from '../../tracing/calls/folded/folded-spans.service.js';
import { foldedSpans, Folding } from './folding.js';
import type { Caller } from '../../platform/auth/caller.js';
import {
  AGENT_SPANS,
  CallsService,
  PLAIN_SPAN,
  type WholeCall,
} from '../../tracing/calls/calls.service.js';
import { isProjectId, PROJECT_PART_RULE } from '../../platform/http/dto.js';
import { ApiError, invalidRequest, toApiError } from '../../platform/errors.js';
import { JsonLimit } from '../../platform/json/json-weight.js';
import { Turn } from '../../platform/time/turn.js';
import { AgentTurns } from '../../tracing/calls/agent-turns/agent-turns.service.js';
import { CostsService } from '../../tracing/costs/costs.service.js';
import { readAttributes } from './attributes.js';
import { type Evaluation, evaluationsOf } from './evaluations.js';
import { EvaluationsService } from './evaluations.service.js';
import type { Origin, PartialSuccess, ReceivedSpan } from './otlp.js';
import { toCall, type NameModel } from './span-call.js';

@Injectable()
export class OtelService {
  private readonly folding: Folding;

  constructor(
    private readonly calls: CallsService,
    private readonly costs: CostsService,
    private readonly turns: AgentTurns,
    private readonly evaluations: EvaluationsService,
    private readonly folded: FoldedSpans,
    @Inject(CONFIG) { otlpFold }: Config,
  ) {
    this.folding = new Folding(otlpFold);
  }

  /**
   * Stores what is good of the spans and tells of the rest. `project` is what the request's header names. `isOfAgents` says that all of
   * them are spans of agents, whatever they say.
   * @throws ApiError when no span could be stored because its project is missing or not the key's.
   */
  async export(
    spans: readonly ReceivedSpan[],
    project: string | undefined,
    caller: Caller,
    isOfAgents = false,
  ): Promise<PartialSuccess | null> {
    const turn = new Turn();
    const findProject = projectFinder(project, caller);
    const refused = new Refusals();
    const modelName: NameModel = (model, provider) => this.costs.modelName(model, provider);
    let part = new Part();
    let stored = 0;
    const store = async () => {
      for (const answer of await this.calls.storeCalls(part.calls, caller))
        if ('error' in answer) refused.add(new Error(answer.error.detail));
      for (const [projectId, traceIds] of await this.unfold(part, caller))
        for (const traceId of traceIds) part.noteTurn(projectId, traceId);
      for (const [projectId, traceIds] of part.turnTraces)
        await this.calls.settleTurns(projectId, [...traceIds], caller.owner);
      for (const [projectId, traceIds] of part.agentTraces)
        await this.turns.settleTraces(projectId, [...traceIds]);
      if (part.evaluations.length > 0)
        for (const error of await this.evaluations.store(part.evaluations, caller))
          refused.tell(error);
      stored += part.length;
      part = new Part();
    };
    for (const received of spans) {
      if (turn.isOver) await turn.next();
      let next: SpanCall;
      try {
        const projectId = findProject(received.origin);
        const { span, text } = received.read();
        const { call, documents, responseId, agent, movesTurn } = toCall(
          span,
          received.origin,
          projectId,
          modelName,
        );
        const evaluations = evaluationsOf(span, projectId);
        next = {
          call,
          documents: { ...documents, otel_dump: text },
          responseId,
          agent,
          evaluations,
          movesTurn,
        };
        if (this.folding.folds(received.origin, call.op_name) && saysNothing(next)) {
          part.fold(next);
          foldedSpans.inc({ scope: received.origin.scope.name ?? '' });
          continue;
        }
        if (isOfAgents) next.agent ??= PLAIN_SPAN;
      } catch (error) {
        refused.add(error as Error);
        continue;
      }
      if (!part.hasRoomFor(next)) await store();
      part.add(next);
    }
    if (stored + part.length === 0 && refused.first instanceof ApiError) throw refused.first;
    await store();
    return refused.told;
  }

  /** Notes the folded spans of a part, and finds what is above calls that are below folded ones. Answers the traces of those. */
  private async unfold(part: Part, { owner }: Caller): Promise<Map<string, Set<string>>> {
    for (const [projectId, spans] of part.folded) await this.folded.fold(projectId, spans, owner);
    const unfolded = new Map<string, Set<string>>();
    for (const [projectId, traceIds] of part.belowTraces)
      if (await this.folded.hasAny(projectId, owner)) {
        await this.folded.unfold(projectId, [...traceIds]);
        unfolded.set(projectId, traceIds);
      }
    return unfolded;
  }
}

/** Whether a span says nothing of models, agents or tools, and has not failed. */
function saysNothing({ call, documents, agent, evaluations }: SpanCall): boolean {
  const { inputs, output = 'null' } = documents;
  const { exception = null, summary = {} } = call;
  return (
    agent === null &&
    evaluations.length === 0 &&
    exception === null &&
    inputs === '{}' &&
    output === 'null' &&
    !('usage' in summary)
  );
}

/** Spans, and what log records say, are stored in parts: one resource may be repeated in thousands of calls, and what waits to be stored is bounded. */
export const PART_CALLS = 500;
export const PART_CHARACTERS = 4 * 1024 * 1024;

interface SpanCall extends WholeCall {
  call: ReturnType<typeof toCall>['call'];
  evaluations: Evaluation[];
}

class Part {
  readonly calls: SpanCall[] = [];
  /** Traces by project, in which turns may move. */
  readonly turnTraces = new Map<string, Set<string>>();
  /** Traces by project with spans of a coding agent, of which there may be events too. */
  readonly agentTraces = new Map<string, Set<string>>();
  readonly evaluations: Evaluation[] = [];
  /** Spans by project that are not stored. */
  readonly folded = new Map<string, Folded[]>();
  /** Traces by project with folded spans, or with calls that may be below some. */
  readonly belowTraces = new Map<string, Set<string>>();
  private characters = 0;
  private foldedCount = 0;

  /** Spans of the request that are in it. */
  get length(): number {
    return this.calls.length + this.foldedCount;
  }

  fold({ call: { project_id, id, parent_id: parentId, trace_id } }: SpanCall): void {
    const folded = this.folded.get(project_id);
    if (folded) folded.push({ id, parentId });
    else this.folded.set(project_id, [{ id, parentId }]);
    noteTrace(this.belowTraces, project_id, trace_id);
    this.foldedCount++;
  }

  noteTurn(projectId: string, traceId: string): void {
    noteTrace(this.turnTraces, projectId, traceId);
  }

  add(call: SpanCall): void {
    this.calls.push(call);
    this.evaluations.push(...call.evaluations);
    this.characters += countCharacters(call);
    const { project_id, trace_id, parent_id, op_name } = call.call;
    if (AGENT_SPANS.includes(op_name)) noteTrace(this.agentTraces, project_id, trace_id);
    if (parent_id !== null) noteTrace(this.belowTraces, project_id, trace_id);
    noteTrace(this.turnTraces, project_id, trace_id);
  }

  hasRoomFor(call: SpanCall): boolean {
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

export class Refusals {
  count = 0;
  first: Error | undefined;

  add(error: Error, count = 1): void {
    this.count += count;
    this.first ??= error instanceof JsonLimit ? toApiError(error) : error;
  }

  /** Tells of what is no item of the request, and so does not count. */
  tell(error: Error): void {
    this.add(error, 0);
  }

  /** What the exporter is told of them. */
  get told(): PartialSuccess | null {
    return this.first
      ? { rejectedSpans: this.count, errorMessage: this.first.message.slice(0, 1000) }
      : null;
  }
}

/** `projectOf`, asked once for the spans of one origin that follow each other; what it throws is thrown for each. */
export function projectFinder(
  header: string | undefined,
  caller: Caller,
): (origin: Origin) => string {
  let last: Origin | undefined;
  let project: string | undefined;
  return (origin) => {
    if (origin !== last || project === undefined) {
      [last, project] = [origin, undefined];
      project = findProject(origin, header, caller);
    }
    return project;
  };
}

/**
 * The project of a span: what the header names, else the resource (`project_id`, or `wandb.entity` and
 * `wandb.project`), else the only one that the key reaches; else, in the only entity that it reaches, the one of Phoenix.
 */
function findProject({ resource }: Origin, header: string | undefined, caller: Caller): string {
  const attributes = readAttributes(resource.attributes);
  const both = (entity: unknown, project: unknown) =>
    entity && project ? `${entity as string}/${project as string}` : undefined;
  const [scope, ...otherScopes] = caller.scopes;
  const only = otherScopes.length === 0 && isProjectId(scope) ? scope : undefined;
  const project =
    header ??
    attributes.get('project_id') ??
    both(attributes.get('wandb.entity'), attributes.get('wandb.project')) ??
    only ??
    both(caller.onlyEntity, attributes.get('openinference.project.name'));
  if (!isProjectId(project)) throw invalidRequest([{ path: 'project_id', message: NO_PROJECT }]);
  caller.assertReaches(project);
  return project;
}

const NO_PROJECT = `must name the project as <entity>/<project>, in a header or in the attributes of the resource; each must ${PROJECT_PART_RULE}`;
