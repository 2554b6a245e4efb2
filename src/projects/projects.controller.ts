import { Body, Controller, Header, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Allow, BasicAuth, EitherAuth, NoProjectField } from '../auth/access.js';
import { Caller, CallerParam } from '../auth/caller.js';
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
  @Post('query')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @NoProjectField('answers those that the key reaches')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: ProjectsAnswerDto })
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
  @Post('project/stats')
  @HttpCode(HttpStatus.OK)
  @Allow('reader')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: ProjectStatsAnswerDto })
  stats(@Body() body: ProjectStatsDto): Promise<string> {
    return this.projects.sizes(body);
  }
}
