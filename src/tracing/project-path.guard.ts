import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { isProjectId, PROJECT_PART_RULE } from '../platform/http/dto.js';
import { invalidRequest } from '../platform/errors.js';

export interface ProjectPath {
  entity: string;
  project: string;
}

/**
 * Checks the project of the path `:entity/:project`: the key must reach it, and the body must not name another project.
 */
@Injectable()
export class ProjectPathGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<IncomingMessage & { params: ProjectPath }>();
    const { entity, project } = request.params;
    const { projects } = request.context;
    const path = `${entity}/${project}`;
    const field = isProjectId(`${entity}/x`) ? 'project' : 'entity';
    if (!isProjectId(path))
      throw invalidRequest([{ path: field, message: `in the path must ${PROJECT_PART_RULE}` }]);
    request.context.assertReaches(path);
    if (projects.some((named) => named !== path))
      throw invalidRequest([{ path: 'project_id', message: 'must be the project of the path' }]);
    return true;
  }
}
