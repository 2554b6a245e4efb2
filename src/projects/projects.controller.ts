import { Body, Controller, Header, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Allow, EitherAuth } from '../auth/access.js';
import { Caller, CallerParam } from '../auth/caller.js';
import { ProjectsAnswerDto, ProjectsQueryDto } from './projects.dto.js';
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
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiOkResponse({ type: ProjectsAnswerDto })
  query(@Body() body: ProjectsQueryDto, @CallerParam() caller: Caller): Promise<string> {
    return this.projects.query(caller.scopes, body);
  }
}
