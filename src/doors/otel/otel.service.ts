import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { foldedSpans, SpanFolding } from './span-folding.js';
import type { Caller } from '../../platform/auth/caller.js';
import { PLAIN_SPAN } from '../../tracing/conventions/agent-columns.js';
import { isProjectId, PROJECT_PART_RULE } from '../../platform/http/dto.js';
import { ApiError, invalidRequest, toApiError } from '../../platform/errors.js';
import { JsonLimit } from '../../platform/json/json-weight.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { readAttributes } from './attributes.js';
import { evaluationsOf } from './evaluations.js';
import type { Origin, PartialSuccess, DecodedSpan, ReceivedSpan } from './otlp.js';
import { toCall } from './span-call.js';
import { type ConvertedSpan, SpanPart } from './span-part.js';
import { SpanPartsService } from './span-parts.service.js';

@Injectable()
export class OtelService {
  private readonly folding: SpanFolding;

  constructor(
    private readonly parts: SpanPartsService,
    @Inject(CONFIG) { otlpFold }: Config,
  ) {
    this.folding = new SpanFolding(otlpFold);
  }

  /**
   * Stores the valid spans and returns the report about the others. `project` is the project that the request's header
   * names. With `isOfAgents`, all spans count as spans of agents.
   * @throws ApiError when no span could be stored because the project is missing or the key does not reach it
   */
  async export(
    spans: readonly ReceivedSpan[],
    project: string | undefined,
    caller: Caller,
    isOfAgents = false,
  ): Promise<PartialSuccess | null> {
    const turn = new EventLoopTurn();
    const findProject = projectFinder(project, caller);
    const refused = new ExportRefusals();
    const callOf = (received: ReceivedSpan) => {
      const projectId = findProject(received.origin);
      const read = received.read();
      if (read.note) refused.tell(new Error(read.note));
      return spanCall(read, received.origin, projectId);
    };
    let part = new SpanPart();
    let stored = 0;
    const store = async () => {
      const errors = await this.parts.store(part, caller);
      for (const error of errors.ofCalls) refused.add(error);
      for (const error of errors.ofEvaluations) refused.tell(error);
      stored += part.length;
      part = new SpanPart();
    };
    for (const received of spans) {
      if (turn.isOver) await turn.next();
      let next: ConvertedSpan;
      try {
        next = callOf(received);
        if (this.isFolded(received, next)) {
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

  private isFolded({ origin }: ReceivedSpan, next: ConvertedSpan): boolean {
    return this.folding.folds(origin, next.call.op_name) && isEmptySpan(next);
  }
}

function spanCall({ span, text }: DecodedSpan, origin: Origin, projectId: string): ConvertedSpan {
  const { documents, ...call } = toCall(span, origin, projectId);
  const evaluations = evaluationsOf(span, projectId);
  return { ...call, documents: { ...documents, otel_dump: text }, evaluations };
}

/** Returns true when a span has no data about models, agents or tools, and has not failed. */
function isEmptySpan({ call, documents, agent, evaluations }: ConvertedSpan): boolean {
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

export class ExportRefusals {
  count = 0;
  first: Error | undefined;

  add(error: Error, count = 1): void {
    this.count += count;
    this.first ??= error instanceof JsonLimit ? toApiError(error) : error;
  }

  /** Reports an error without counting an item of the request. */
  tell(error: Error): void {
    this.add(error, 0);
  }

  get told(): PartialSuccess | null {
    return this.first
      ? { rejectedSpans: this.count, errorMessage: this.first.message.slice(0, 1000) }
      : null;
  }
}

/**
 * Returns a function that finds the project of an origin. The result for an origin is kept while its spans follow each
 * other; an error is thrown for each span.
 */
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
 * Returns the project of a span. The header comes first, then the resource (`project_id`, or `wandb.entity` and
 * `wandb.project`), then the only project that the key reaches. The last choice is Phoenix's project name within the
 * only entity that the key reaches.
 */
function findProject({ resource }: Origin, header: string | undefined, caller: Caller): string {
  const attributes = readAttributes(resource.attributes);
  const both = (entity: unknown, project: unknown) =>
    entity && project ? `${entity as string}/${project as string}` : undefined;
  const project =
    header ??
    attributes.get('project_id') ??
    both(attributes.get('wandb.entity'), attributes.get('wandb.project')) ??
    caller.onlyProject ??
    both(caller.onlyEntity, attributes.get('openinference.project.name'));
  if (!isProjectId(project)) throw invalidRequest([{ path: 'project_id', message: NO_PROJECT }]);
  caller.assertReaches(project);
  return project;
}

const NO_PROJECT = `must name the project as <entity>/<project>, in a header or in the attributes of the resource; each must ${PROJECT_PART_RULE}`;
