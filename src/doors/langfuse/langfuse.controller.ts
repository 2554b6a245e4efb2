import { Body, Get, HttpCode, HttpStatus, Post, Req, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  Allow,
  BasicAuth,
  NoProjectField,
  Operation,
  Public,
  Resource,
} from '../../platform/auth/access.js';
import { projectKeyOf } from '../../platform/auth/basic.strategy.js';
import { Caller, CallerParam } from '../../platform/auth/caller.js';
import {
  assertJson,
  BodyText,
  jsonText,
  parseJson,
  readBytes,
} from '../../platform/http/body.guard.js';
import { isProjectId, PROJECT_PART_RULE } from '../../platform/http/dto.js';
import { invalidRequest } from '../../platform/errors.js';
import { isObject } from '../../platform/json/is-object.js';
import { VERSION } from '../../platform/config/version.js';
import {
  IngestionAnswerDto,
  IngestionDto,
  LangfuseHealthDto,
  LangfuseProjectsDto,
  ScoresRefusedDto,
  ScoresStoredDto,
  ScoreStoredDto,
} from './langfuse.dto.js';
import { LangfuseService } from './langfuse.service.js';

/** What SDKs of Langfuse send and ask; the public key names the project (or a header `project_id`), unless the secret key reaches only one. */
@NoProjectField('a header or the public key names it, which projectOf checks')
@Resource('langfuse', BasicAuth(), 'api/public')
export class LangfuseController {
  constructor(private readonly langfuse: LangfuseService) {}

  /** Stores traces and observations as calls, and scores as feedback. A bad event is refused by itself. */
  @Post('ingestion')
  @HttpCode(HttpStatus.MULTI_STATUS)
  @Allow('writer')
  @ApiResponse({ status: HttpStatus.MULTI_STATUS, type: IngestionAnswerDto })
  ingest(
    @Body() { batch }: IngestionDto,
    @BodyText() text: string,
    @Req() request: Request,
    @CallerParam() caller: Caller,
  ): Promise<IngestionAnswerDto> {
    return this.langfuse.ingest(batch, text, projectOf(request, caller), caller);
  }

  /** Stores a score, or a list of them, as feedback; with its id a score may be sent again, and changed. */
  @Operation('scores', 'writer')
  @ApiBody({ schema: { type: 'object' } })
  @ApiOkResponse({ type: ScoreStoredDto })
  @ApiAcceptedResponse({ type: ScoresStoredDto })
  @ApiResponse({ status: HttpStatus.MULTI_STATUS, type: ScoresRefusedDto })
  async score(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @CallerParam() caller: Caller,
  ): Promise<ScoreStoredDto | ScoresStoredDto | ScoresRefusedDto> {
    const projectId = projectOf(request, caller);
    assertJson(request);
    const text = await jsonText(request, await readBytes(request));
    const body = parseJson(text);
    if (isObject(body)) return { id: await this.langfuse.score(text, projectId, caller) };
    if (!Array.isArray(body)) throw invalidRequest([{ path: '', message: 'must be a score' }]);
    const messages = await this.langfuse.scoreAll(text, projectId, caller);
    if (messages.length === 0) {
      response.status(HttpStatus.ACCEPTED);
      return { message: 'Accepted' };
    }
    response.status(HttpStatus.MULTI_STATUS);
    const errors = messages.map((message) => ({ message }));
    return { accepted: body.length - errors.length, rejected: errors.length, errors };
  }

  /** The project of the keys, which SDKs ask for to see whether they work. */
  @Get('projects')
  @Allow('reader')
  projects(@Req() request: Request, @CallerParam() caller: Caller): LangfuseProjectsDto {
    const id = projectOf(request, caller);
    const [entity, name] = id.split('/') as [string, string];
    const organization = { id: entity, name: entity };
    return { data: [{ id, name, metadata: {}, organization, retentionDays: null }] };
  }
}

@Resource('langfuse', Public(), 'api/public/health')
export class LangfuseHealthController {
  /** The process is up. */
  @Get()
  health(): LangfuseHealthDto {
    return { status: 'OK', version: VERSION };
  }
}

/** @throws ApiError `invalid_request`, `forbidden` */
function projectOf({ headers }: Request, caller: Caller): string {
  const [scope, ...others] = caller.scopes;
  const named = headers['project_id'] ?? projectKeyOf(headers.authorization);
  const project = named ?? (others.length === 0 ? scope : undefined);
  if (!isProjectId(project)) throw invalidRequest([{ path: 'project_id', message: NO_PROJECT }]);
  caller.assertReaches(project);
  return project;
}

const NO_PROJECT = `must be named by the public key, as <entity>/<project>, where the secret key reaches several; each must ${PROJECT_PART_RULE}`;
