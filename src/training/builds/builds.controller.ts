import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Idempotent, IdempotentInHandler } from '../../platform/auth/idempotency/idempotency.js';
import { ApiJsonLines, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray, jsonLines } from '../../platform/http/json-rows.js';
import { BuildOutputsService } from './exports/build-outputs.service.js';
import { BuildsErasing } from './builds-erasing.service.js';
import {
  BuildCreatedDto,
  BuildCreateDto,
  BuildExportDto,
  BuildPreviewDto,
  BuildPreviewedDto,
  BuildsAnswerDto,
  BuildsQueryDto,
  BuildSubmitDto,
  BuildSubmittedDto,
} from './builds.dto.js';
import {
  CompletionExportDto,
  DpoExportDto,
  KtoExportDto,
  OpenAiDpoExportDto,
  PromptExportDto,
  RftExportDto,
  SftExportDto,
  TinkerExportDto,
  VerifiersExportDto,
} from './exports/exports.dto.js';
import { BuildsService } from './builds.service.js';

@Resource('builds', BasicAuth())
export class BuildsController {
  constructor(
    private readonly builds: BuildsService,
    private readonly outputs: BuildOutputsService,
    private readonly erasing: BuildsErasing,
  ) {}

  /** Previews a build: counts, rewards, lints, some groups and the digest. Stores nothing. */
  @Operation('build/preview', 'reader')
  @ApiJsonResponse({ type: BuildPreviewedDto })
  async preview(@Body() body: BuildPreviewDto, @Ctx() context: Context): Promise<string> {
    return await this.builds.preview(body, context);
  }

  /** Builds trajectory groups from recorded calls with a recipe, and stores them. */
  @Operation('build/create', 'writer')
  @IdempotentInHandler()
  async create(@Body() body: BuildCreateDto, @Ctx() context: Context): Promise<BuildCreatedDto> {
    const created = await this.builds.create(body, context);
    await this.erasing.forgetGone(body.project_id, created.build_id);
    return created;
  }

  /** Queues a training job of a model with the training side of a build, and logs the evaluation side. */
  @Operation('build/submit', 'writer')
  @Idempotent()
  submit(@Body() body: BuildSubmitDto, @Ctx() { caller }: Context): Promise<BuildSubmittedDto> {
    return this.outputs.submit(body, caller);
  }

  /**
   * Streams a build in the format of a trainer, one JSON object per line. The header `x-build-lints` contains the
   * lints of the format.
   */
  @Operation('build/export', 'reader')
  @ApiJsonLines(
    'TrajectoryGroupDto',
    SftExportDto,
    OpenAiDpoExportDto,
    RftExportDto,
    CompletionExportDto,
    DpoExportDto,
    KtoExportDto,
    TinkerExportDto,
    VerifiersExportDto,
    PromptExportDto,
  )
  async export(@Body() body: BuildExportDto, @Ctx() context: Context): Promise<StreamableFile> {
    const { pieces, lints } = await this.outputs.export(body, context);
    context.response.setHeader('x-build-lints', asciiJson(lints));
    return jsonLines(pieces, context);
  }

  /** Lists builds, by default the oldest first. */
  @Operation('builds/query', 'reader')
  @ApiOkResponse({ type: BuildsAnswerDto })
  async query(@Body() body: BuildsQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.builds.query(body), context, 'builds');
  }
}

/** Escapes all characters outside ASCII: headers hold ASCII only, but ids of calls may hold anything. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
