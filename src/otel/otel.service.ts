import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { CallsService } from '../calls/calls.service.js';
import { isProjectId } from '../common/dto.js';
import { ApiError, invalidRequest } from '../common/errors.js';
import { attributesOf } from './attributes.js';
import type { Origin, PartialSuccess, ReceivedSpan } from './otlp.js';
import { callOf } from './span-call.js';

@Injectable()
export class OtelService {
  constructor(private readonly calls: CallsService) {}

  /**
   * Stores what is good of the spans and tells of the rest. `project` is what the request's header names.
   * @throws ApiError when no span could be stored because its project is missing or not the key's.
   */
  async export(
    spans: Iterable<ReceivedSpan>,
    project: string | undefined,
    caller: Caller,
  ): Promise<PartialSuccess | null> {
    const calls: object[] = [];
    const texts: string[] = [];
    const errors: Error[] = [];
    for (const span of spans) {
      try {
        const projectId = projectOf(span.origin, project, caller);
        const call = callOf(span.read(), span.origin, projectId);
        calls.push(call);
        texts.push(`${JSON.stringify(call).slice(0, -1)},"otel_dump":${span.text()}}`);
      } catch (error) {
        errors.push(error as Error);
      }
    }
    if (calls.length === 0 && errors[0] instanceof ApiError) throw errors[0];
    for (const answer of await this.calls.storeCalls(calls, texts, caller))
      if ('error' in answer) errors.push(new Error(answer.error.detail));
    return errors.length === 0
      ? null
      : { rejectedSpans: errors.length, errorMessage: errors[0]!.message.slice(0, 1000) };
  }
}

/**
 * The project of a span: what the header names, else the resource (`project_id`, or `wandb.entity` and
 * `wandb.project`), else the only one that the key reaches.
 */
function projectOf({ resource }: Origin, header: string | undefined, caller: Caller): string {
  const attributes = attributesOf(resource.attributes);
  const parts = ['wandb.entity', 'wandb.project'].map((name) => attributes.get(name));
  const named =
    header ?? attributes.get('project_id') ?? (parts.every(Boolean) ? parts.join('/') : undefined);
  const [scope, ...otherScopes] = caller.scopes;
  const project = named ?? (otherScopes.length === 0 ? scope : undefined);
  if (!isProjectId(project)) throw invalidRequest([{ path: 'project_id', message: NO_PROJECT }]);
  caller.assertReaches(project);
  return project;
}

const NO_PROJECT =
  'must name the project as <entity>/<project>, in a header or in the attributes of the resource';
