import { Body } from '@nestjs/common';
import {
  BasicAuth,
  EitherAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import {
  ProjectsAnswerDto,
  ProjectsQueryDto,
  ProjectStatsAnswerDto,
  ProjectStatsDto,
} from './projects.dto.js';
import { ProjectsService } from './projects.service.js';

@Resource('projects', EitherAuth(), 'projects')
export class ProjectsController {
  constructor(private readonly projects: ProjectsService) {}

  /** The projects that the key reaches and that hold something: how many calls, how many bytes, last used when. */
  @Operation('query', 'reader')
  @NoProjectField('answers those that the key reaches')
  @ApiJsonResponse({ type: ProjectsAnswerDto })
  query(@Body() body: ProjectsQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.projects.query(caller.scopes, body);
  }
}

/** The queries about projects that published clients send. */
@Resource('projects', BasicAuth())
export class ProjectStatsController {
  constructor(private readonly projects: ProjectsService) {}

  /** Bytes of what a project stores: calls, objects, tables, files. */
  @Operation('project/stats', 'reader')
  @ApiJsonResponse({ type: ProjectStatsAnswerDto })
  stats(@Body() body: ProjectStatsDto): Promise<string> {
    return this.projects.sizes(body);
  }
}
