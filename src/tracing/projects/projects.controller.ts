import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  BasicAuth,
  BasicOrBearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import {
  FilesStatsAnswerDto,
  FilesStatsDto,
  ProjectInfoDto,
  ProjectsAnswerDto,
  ProjectsInfoDto,
  ProjectsQueryDto,
  ProjectStatsAnswerDto,
  ProjectStatsDto,
} from './projects.dto.js';
import { ProjectsService } from './projects.service.js';

@Resource('projects', BasicOrBearerAuth(), 'projects')
export class ProjectsController {
  constructor(private readonly projects: ProjectsService) {}

  /** Lists the projects that the key may read and that are not empty, with their calls, bytes and last activity. */
  @Operation('query', 'reader')
  @NoProjectField('answers those that the key reaches')
  @ApiJsonResponse({ type: ProjectsAnswerDto })
  query(@Body() body: ProjectsQueryDto, @Ctx() { caller }: Context): Promise<string> {
    return this.projects.query(caller.scopes, body);
  }
}

/** Answers requests about projects that published clients send. */
@Resource('projects', BasicAuth())
export class ProjectStatsController {
  constructor(private readonly projects: ProjectsService) {}

  /** Counts the bytes that a project stores: calls, objects, tables and files. */
  @Operation('project/stats', 'reader')
  @ApiJsonResponse({ type: ProjectStatsAnswerDto })
  stats(@Body() body: ProjectStatsDto): Promise<string> {
    return this.projects.sizes(body);
  }

  /** Counts the bytes of the files that a project stores. */
  @Operation('files/query_stats', 'reader')
  files(@Body() { project_id }: FilesStatsDto): Promise<FilesStatsAnswerDto> {
    return this.projects.fileSizes(project_id);
  }

  /**
   * Lists the requested projects that the key may read and that are not empty. Published clients request internal ids,
   * but projects have no ids besides their names.
   */
  @Operation('service/projects_info', 'reader')
  @NoProjectField('answers those that the key reaches')
  @ApiOkResponse({ type: [ProjectInfoDto] })
  info(
    @Body() { project_ids }: ProjectsInfoDto,
    @Ctx() { caller }: Context,
  ): Promise<ProjectInfoDto[]> {
    return this.projects.info(project_ids.filter((id) => caller.reaches(id)));
  }
}
