import {
  Body,
  Get,
  HttpCode,
  HttpStatus,
  Param,
  Patch,
  Post,
  Put,
  StreamableFile,
  UseFilters,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiConsumes,
  ApiOkResponse,
  ApiProduces,
  ApiResponse,
} from '@nestjs/swagger';
import {
  Allow,
  BasicAuth,
  NoProjectField,
  Operation,
  Public,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { assertJson, jsonText, parseJson, readBytes } from '../../platform/http/body.guard.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { invalidRequest } from '../../platform/errors.js';
import { isObject } from '../../platform/json/json-object.js';
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
import { LangfuseErrorFilter } from './langfuse.filter.js';
import { projectInScope } from './project-in-scope.js';
import { LangfuseService } from './langfuse.service.js';
import {
  MediaDto,
  MediaReportDto,
  MediaReportedDto,
  MediaUploadDto,
  MediaUploadUrlDto,
} from './media.dto.js';
import { MediaService } from './media.service.js';

/**
 * Serves the SDKs of Langfuse. The public key, or a header `project_id`, names the project. Neither is needed when the
 * secret key reaches only one project.
 */
@NoProjectField('a header or the public key names it, which projectInScope checks')
@UseFilters(LangfuseErrorFilter)
@Resource('langfuse', BasicAuth(), 'api/public')
export class LangfuseController {
  constructor(
    private readonly langfuse: LangfuseService,
    private readonly media: MediaService,
  ) {}

  /**
   * Stores traces and observations as calls, and scores as feedback. An invalid event is refused without affecting the
   * others.
   */
  @Post('ingestion')
  @HttpCode(HttpStatus.MULTI_STATUS)
  @Allow('writer')
  @ApiResponse({ status: HttpStatus.MULTI_STATUS, type: IngestionAnswerDto })
  ingest(@Body() { batch }: IngestionDto, @Ctx() context: Context): Promise<IngestionAnswerDto> {
    return this.langfuse.ingest(batch, context.text, projectInScope(context), context.caller);
  }

  /** Stores a score, or a list of scores, as feedback. A score with an id can be sent again and changed. */
  @Operation('scores', 'writer')
  @ApiBody({ schema: { type: 'object' } })
  @ApiOkResponse({ type: ScoreStoredDto })
  @ApiAcceptedResponse({ type: ScoresStoredDto })
  @ApiResponse({ status: HttpStatus.MULTI_STATUS, type: ScoresRefusedDto })
  async score(
    @Ctx() context: Context,
  ): Promise<ScoreStoredDto | ScoresStoredDto | ScoresRefusedDto> {
    const projectId = projectInScope(context);
    assertJson(context);
    const text = await jsonText(context, await readBytes(context));
    const body = parseJson(text);
    if (isObject(body)) return { id: await this.langfuse.score(text, projectId, context.caller) };
    if (!Array.isArray(body)) throw invalidRequest([{ path: '', message: 'must be a score' }]);
    const messages = await this.langfuse.scoreAll(text, projectId, context.caller);
    if (messages.length === 0) {
      context.response.statusCode = HttpStatus.ACCEPTED;
      return { message: 'Accepted' };
    }
    context.response.statusCode = HttpStatus.MULTI_STATUS;
    const errors = messages.map((message) => ({ message }));
    return { accepted: body.length - errors.length, rejected: errors.length, errors };
  }

  /** Announces a media file. Its bytes are uploaded to `uploadUrl` by PUT, unless they are stored already. */
  @Post('media')
  @Allow('writer')
  @HttpCode(HttpStatus.OK)
  @ApiOkResponse({ type: MediaUploadUrlDto })
  announceMedia(@Body() body: MediaUploadDto, @Ctx() context: Context): Promise<MediaUploadUrlDto> {
    return this.media.announce(body, projectInScope(context), context);
  }

  /** Receives the result of an upload. */
  @Patch('media/:id')
  @Allow('writer')
  @ApiOkResponse({ type: MediaReportedDto })
  async reportMedia(
    @Param('id') id: string,
    @Body() body: MediaReportDto,
    @Ctx() context: Context,
  ): Promise<MediaReportedDto> {
    await this.media.report(id, body, projectInScope(context));
    return { mediaId: id };
  }

  /** Returns a media file, with a URL that serves its bytes for an hour. */
  @Get('media/:id')
  @Allow('reader')
  @ApiOkResponse({ type: MediaDto })
  readMedia(@Param('id') id: string, @Ctx() context: Context): Promise<MediaDto> {
    return this.media.read(id, projectInScope(context), context);
  }

  /** Returns the project of the keys. SDKs request it to check the keys. */
  @Get('projects')
  @Allow('reader')
  projects(@Ctx() context: Context): LangfuseProjectsDto {
    const id = projectInScope(context);
    const [entity, name] = id.split('/') as [string, string];
    const organization = { id: entity, name: entity };
    return { data: [{ id, name, metadata: {}, organization, retentionDays: null }] };
  }
}

const BYTES = 'application/octet-stream';

/** Serves the bytes of media by signed URLs, because SDKs send no key with these requests. */
@Resource('langfuse', Public(), 'api/public/media/:id/content')
export class MediaContentController {
  constructor(private readonly media: MediaService) {}

  /** Stores the bytes that `POST /api/public/media` announced. */
  @Put()
  @ApiConsumes(BYTES)
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiOkResponse({ type: MediaReportedDto })
  async upload(@Param('id') id: string, @Ctx() context: Context): Promise<MediaReportedDto> {
    await this.media.upload(id, context);
    return { mediaId: id };
  }

  /** Returns the bytes of a media file, with the media type that was announced. */
  @Get()
  @ApiProduces('*/*')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary' } })
  async content(@Param('id') id: string, @Ctx() context: Context): Promise<StreamableFile> {
    const { bytes, length, contentType } = await this.media.content(id, context);
    // an HTML page that a client uploaded must not run as a page of the service
    context.response.setHeader('Content-Security-Policy', "sandbox; default-src 'none'");
    context.response.setHeader('X-Content-Type-Options', 'nosniff');
    context.response.setHeader('Cache-Control', 'private, max-age=3600, immutable');
    return new StreamableFile(bytes, { type: contentType, length });
  }
}

@Resource('langfuse', Public(), 'api/public/health')
export class LangfuseHealthController {
  /** Reports that the process is running. */
  @Get()
  health(): LangfuseHealthDto {
    return { status: 'OK', version: VERSION };
  }
}
