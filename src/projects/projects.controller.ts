import { Body, Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { BasicAuth, EitherAuth, NoProjectField, Operation } from '../auth/access.js';
import { Caller, CallerParam } from '../auth/caller.js';
import { ApiJsonResponse } from '../common/api-json-response.js';
import {
  ProjectsAnswerDto,
  ProjectsQueryDto,
  ProjectStatsAnswerDto,
  ProjectStatsDto,
} from './projects.dto.js';
import { ProjectsService } from './projects.service.js';

@ApiTags('projects')
@EitherAuth()
@Controller('projects')
export class ProjectsController {
  constructor(private readonly projects: ProjectsService) {}

  /** The projects that the key reaches and that hold something: how many calls, how many bytes, last used when. */
  @Operation('query', 'reader')
  @NoProjectField('answers those that the key reaches')
  @ApiJsonResponse({ type: ProjectsAnswerDto })
  query(@Body() body: ProjectsQueryDto, @CallerParam() caller: Caller): Promise<string> {
    return this.projects.query(caller.scopes, body);
  }
}

/** The queries about projects that published clients send. */
@ApiTags('projects')
@BasicAuth()
@Controller()
export class ProjectStatsController {
  constructor(private readonly projects: ProjectsService) {}

  /** Bytes of what a project stores: calls, objects, tables, files. */
  @Operation('project/stats', 'reader')
  @ApiJsonResponse({ type: ProjectStatsAnswerDto })
  stats(@Body() body: ProjectStatsDto): Promise<string> {
    return this.projects.sizes(body);
  }
}
