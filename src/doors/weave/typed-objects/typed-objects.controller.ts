import {
  Body,
  Controller,
  Delete,
  Get,
  Param,
  Query,
  type StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import {
  Allow,
  BasicAuth,
  NoProjectField,
  Operation,
} from '../../../platform/auth/access-decorators.js';
import { AnswersInDialect } from '../../../platform/auth/dialect.guard.js';
import { Idempotent } from '../../../platform/auth/idempotency/idempotency.js';
import { ApiJsonLines, ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { jsonLines } from '../../../platform/http/json-rows.js';
import { QueryPipe } from '../../../platform/http/query.pipe.js';
import { type ProjectPath, ProjectPathGuard } from '../../../tracing/project-path.guard.js';
import {
  DatasetCreateDto,
  DatasetDto,
  DeletedDto,
  EvaluationCreateDto,
  EvaluationCreatedDto,
  EvaluationDto,
  type TypedObjectKind,
  TypedModelCreateDto,
  ModelCreatedDto,
  TypedModelDto,
  OpCreateDto,
  OpDto,
  OpsQueryDto,
  ScorerCreateDto,
  ScorerCreatedDto,
  ScorerDto,
  TypedObjectCreatedDto,
  TypedObjectsDeleteDto,
  TypedObjectsQueryDto,
} from './typed-objects.dto.js';
import { TypedObjectsService } from './typed-objects.service.js';

interface VersionPath extends ProjectPath {
  object_id: string;
  digest: string;
}

const pathProject = ({ entity, project }: ProjectPath) => `${entity}/${project}`;

/** Publishes and reads objects by their purpose. They are the objects of `/obj/…`. */
@ApiTags('evaluations')
@ApiParam({ name: 'entity', example: 'acme' })
@ApiParam({ name: 'project', example: 'demo' })
@NoProjectField('ProjectPathGuard checks the project of the path')
@UseGuards(ProjectPathGuard)
@AnswersInDialect()
@BasicAuth()
@Controller('v2/:entity/:project')
export class TypedObjectsController {
  constructor(private readonly objects: TypedObjectsService) {}

  /** Publishes an op with its source code. */
  @Operation('ops', 'writer')
  @Idempotent()
  createOp(
    @Body() body: OpCreateDto,
    @Ctx() { caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<TypedObjectCreatedDto> {
    return this.objects.createOp(pathProject(path), body, caller);
  }

  /** Publishes a dataset, with its rows as a table. */
  @Operation('datasets', 'writer')
  @Idempotent()
  createDataset(
    @Body() body: DatasetCreateDto,
    @Ctx() { text, caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<TypedObjectCreatedDto> {
    return this.objects.createDataset(pathProject(path), body, text, caller);
  }

  /** Publishes a scorer, with its ops. */
  @Operation('scorers', 'writer')
  @Idempotent()
  createScorer(
    @Body() body: ScorerCreateDto,
    @Ctx() { caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<ScorerCreatedDto> {
    return this.objects.createScorer(pathProject(path), body, caller);
  }

  /** Publishes an evaluation: a dataset, scorers, and how often each row is tried. */
  @Operation('evaluations', 'writer')
  @Idempotent()
  createEvaluation(
    @Body() body: EvaluationCreateDto,
    @Ctx() { text, caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<EvaluationCreatedDto> {
    return this.objects.createEvaluation(pathProject(path), body, text, caller);
  }

  /** Publishes a model with its source code. */
  @Operation('models', 'writer')
  @Idempotent()
  createModel(
    @Body() body: TypedModelCreateDto,
    @Ctx() { text, caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<ModelCreatedDto> {
    return this.objects.createModel(pathProject(path), body, text, caller);
  }

  /** Lists the versions of ops, the oldest first. */
  @Get('ops')
  @Allow('reader')
  @ApiJsonLines(OpDto)
  listOps(
    @Query(QueryPipe) page: OpsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return this.list('ops', page, path, context);
  }

  /** Lists the versions of datasets, the oldest first. */
  @Get('datasets')
  @Allow('reader')
  @ApiJsonLines(DatasetDto)
  listDatasets(
    @Query(QueryPipe) page: TypedObjectsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return this.list('datasets', page, path, context);
  }

  /** Lists the versions of scorers, the oldest first. */
  @Get('scorers')
  @Allow('reader')
  @ApiJsonLines(ScorerDto)
  listScorers(
    @Query(QueryPipe) page: TypedObjectsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return this.list('scorers', page, path, context);
  }

  /** Lists the versions of evaluations, the oldest first. */
  @Get('evaluations')
  @Allow('reader')
  @ApiJsonLines(EvaluationDto)
  listEvaluations(
    @Query(QueryPipe) page: TypedObjectsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return this.list('evaluations', page, path, context);
  }

  /** Lists the versions of models, the oldest first. */
  @Get('models')
  @Allow('reader')
  @ApiJsonLines(TypedModelDto)
  listModels(
    @Query(QueryPipe) page: TypedObjectsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return this.list('models', page, path, context);
  }

  /** Reads one version of an op. */
  @Get('ops/:object_id/versions/:digest')
  @Allow('reader')
  @ApiJsonResponse({ type: OpDto })
  readOp(@Param() path: VersionPath, @Query(QueryPipe) { eager }: OpsQueryDto): Promise<string> {
    return this.read('ops', path, eager !== 'false');
  }

  /** Deletes versions of an op, or all versions when no digests are given. */
  @Delete('ops/:object_id')
  @Allow('writer')
  deleteOp(
    @Query(QueryPipe) query: TypedObjectsDeleteDto,
    @Ctx() context: Context,
    @Param() path: VersionPath,
  ): Promise<DeletedDto> {
    return this.delete('ops', path, query, context);
  }

  /** Reads one version of a dataset. */
  @Get('datasets/:object_id/versions/:digest')
  @Allow('reader')
  @ApiJsonResponse({ type: DatasetDto })
  readDataset(@Param() path: VersionPath): Promise<string> {
    return this.read('datasets', path);
  }

  /** Deletes versions of a dataset, or all versions when no digests are given. */
  @Delete('datasets/:object_id')
  @Allow('writer')
  deleteDataset(
    @Query(QueryPipe) query: TypedObjectsDeleteDto,
    @Ctx() context: Context,
    @Param() path: VersionPath,
  ): Promise<DeletedDto> {
    return this.delete('datasets', path, query, context);
  }

  /** Reads one version of a scorer. */
  @Get('scorers/:object_id/versions/:digest')
  @Allow('reader')
  @ApiJsonResponse({ type: ScorerDto })
  readScorer(@Param() path: VersionPath): Promise<string> {
    return this.read('scorers', path);
  }

  /** Deletes versions of a scorer, or all versions when no digests are given. */
  @Delete('scorers/:object_id')
  @Allow('writer')
  deleteScorer(
    @Query(QueryPipe) query: TypedObjectsDeleteDto,
    @Ctx() context: Context,
    @Param() path: VersionPath,
  ): Promise<DeletedDto> {
    return this.delete('scorers', path, query, context);
  }

  /** Reads one version of an evaluation. */
  @Get('evaluations/:object_id/versions/:digest')
  @Allow('reader')
  @ApiJsonResponse({ type: EvaluationDto })
  readEvaluation(@Param() path: VersionPath): Promise<string> {
    return this.read('evaluations', path);
  }

  /** Deletes versions of an evaluation, or all versions when no digests are given. */
  @Delete('evaluations/:object_id')
  @Allow('writer')
  deleteEvaluation(
    @Query(QueryPipe) query: TypedObjectsDeleteDto,
    @Ctx() context: Context,
    @Param() path: VersionPath,
  ): Promise<DeletedDto> {
    return this.delete('evaluations', path, query, context);
  }

  /** Reads one version of a model. */
  @Get('models/:object_id/versions/:digest')
  @Allow('reader')
  @ApiJsonResponse({ type: TypedModelDto })
  readModel(@Param() path: VersionPath): Promise<string> {
    return this.read('models', path);
  }

  /** Deletes versions of a model, or all versions when no digests are given. */
  @Delete('models/:object_id')
  @Allow('writer')
  deleteModel(
    @Query(QueryPipe) query: TypedObjectsDeleteDto,
    @Ctx() context: Context,
    @Param() path: VersionPath,
  ): Promise<DeletedDto> {
    return this.delete('models', path, query, context);
  }

  private async list(
    kind: TypedObjectKind,
    page: OpsQueryDto,
    path: ProjectPath,
    context: Context,
  ): Promise<StreamableFile> {
    return jsonLines(await this.objects.list(kind, pathProject(path), page), context);
  }

  private read(kind: TypedObjectKind, { object_id, digest, ...path }: VersionPath, hasCode = true) {
    return this.objects.read(kind, { project_id: pathProject(path), object_id, digest }, hasCode);
  }

  private delete(
    kind: TypedObjectKind,
    { object_id, ...path }: VersionPath,
    { digests }: TypedObjectsDeleteDto,
    { caller }: Context,
  ): Promise<DeletedDto> {
    return this.objects.delete(kind, { project_id: pathProject(path), object_id, digests }, caller);
  }
}
