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
  FinishedDto,
  PredictionCreateDto,
  PredictionCreatedDto,
  PredictionDto,
  PredictionsDeleteDto,
  PredictionsQueryDto,
  RunCreateDto,
  RunCreatedDto,
  RunDto,
  RunFinishDto,
  RunsDeleteDto,
  RunsQueryDto,
  ScoreCreateDto,
  ScoreCreatedDto,
  ScoreDto,
  ScoresDeleteDto,
  ScoresQueryDto,
} from './evaluation-runs.dto.js';
import { EvaluationRunsService } from './evaluation-runs.service.js';
import { DeletedDto } from '../typed-objects/typed-objects.dto.js';

interface CallPath extends ProjectPath {
  id: string;
}

const pathProject = ({ entity, project }: ProjectPath) => `${entity}/${project}`;

/** Records runs of evaluations from plain requests. Runs are stored as calls. */
@ApiTags('evaluations')
@ApiParam({ name: 'entity', example: 'acme' })
@ApiParam({ name: 'project', example: 'demo' })
@NoProjectField('ProjectPathGuard checks the project of the path')
@UseGuards(ProjectPathGuard)
@AnswersInDialect()
@BasicAuth()
@Controller('v2/:entity/:project')
export class EvaluationRunsController {
  constructor(private readonly runs: EvaluationRunsService) {}

  /** Starts a run of an evaluation with a model. */
  @Operation('evaluation_runs', 'writer')
  @Idempotent()
  createRun(
    @Body() body: RunCreateDto,
    @Ctx() { caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<RunCreatedDto> {
    return this.runs.createRun(pathProject(path), body, caller);
  }

  /** Records the output of a model, in a run or without one. */
  @Operation('predictions', 'writer')
  @Idempotent()
  createPrediction(
    @Body() body: PredictionCreateDto,
    @Ctx() { text, caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<PredictionCreatedDto> {
    return this.runs.createPrediction(pathProject(path), body, text, caller);
  }

  /** Records the output of a scorer for a prediction, and stores it as feedback on the prediction too. */
  @Operation('scores', 'writer')
  @Idempotent()
  createScore(
    @Body() body: ScoreCreateDto,
    @Ctx() { text, caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<ScoreCreatedDto> {
    return this.runs.createScore(pathProject(path), body, text, caller);
  }

  /**
   * Ends a prediction with its scores. Repeating the request adds scores that arrived since. Takes no body, as the
   * published clients send none.
   */
  @Operation('predictions/:id/finish', 'writer')
  async finishPrediction(
    @Ctx() context: Context,
    @Param() { id, ...path }: CallPath,
  ): Promise<FinishedDto> {
    await this.runs.finishPrediction(pathProject(path), id, context);
    return { success: true };
  }

  /** Sums up a run and ends it. Repeating the request includes predictions that were finished since. */
  @Operation('evaluation_runs/:id/finish', 'writer')
  async finishRun(
    @Body() _body: RunFinishDto,
    @Ctx() context: Context,
    @Param() { id, ...path }: CallPath,
  ): Promise<FinishedDto> {
    await this.runs.finishRun(pathProject(path), id, context);
    return { success: true };
  }

  /** Lists runs, the oldest first. */
  @Get('evaluation_runs')
  @Allow('reader')
  @ApiJsonLines(RunDto)
  async listRuns(
    @Query(QueryPipe) query: RunsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return jsonLines(await this.runs.listRuns(pathProject(path), query), context);
  }

  /** Lists predictions, the oldest first. */
  @Get('predictions')
  @Allow('reader')
  @ApiJsonLines(PredictionDto)
  async listPredictions(
    @Query(QueryPipe) query: PredictionsQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return jsonLines(await this.runs.list(pathProject(path), 'predictions', query), context);
  }

  /** Lists scores, the oldest first. */
  @Get('scores')
  @Allow('reader')
  @ApiJsonLines(ScoreDto)
  async listScores(
    @Query(QueryPipe) query: ScoresQueryDto,
    @Ctx() context: Context,
    @Param() path: ProjectPath,
  ): Promise<StreamableFile> {
    return jsonLines(await this.runs.list(pathProject(path), 'scores', query), context);
  }

  /** Reads one run. */
  @Get('evaluation_runs/:id')
  @Allow('reader')
  @ApiJsonResponse({ type: RunDto })
  readRun(@Param() { id, ...path }: CallPath): Promise<string> {
    return this.runs.read(pathProject(path), 'runs', id);
  }

  /** Deletes runs, with the calls below them. */
  @Delete('evaluation_runs')
  @Allow('writer')
  deleteRuns(
    @Query(QueryPipe) { evaluation_run_ids }: RunsDeleteDto,
    @Ctx() { caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<DeletedDto> {
    return this.runs.delete(pathProject(path), 'runs', evaluation_run_ids, caller);
  }

  /** Reads one prediction. */
  @Get('predictions/:id')
  @Allow('reader')
  @ApiJsonResponse({ type: PredictionDto })
  readPrediction(@Param() { id, ...path }: CallPath): Promise<string> {
    return this.runs.read(pathProject(path), 'predictions', id);
  }

  /** Deletes predictions, with the calls below them. */
  @Delete('predictions')
  @Allow('writer')
  deletePredictions(
    @Query(QueryPipe) { prediction_ids }: PredictionsDeleteDto,
    @Ctx() { caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<DeletedDto> {
    return this.runs.delete(pathProject(path), 'predictions', prediction_ids, caller);
  }

  /** Reads one score. */
  @Get('scores/:id')
  @Allow('reader')
  @ApiJsonResponse({ type: ScoreDto })
  readScore(@Param() { id, ...path }: CallPath): Promise<string> {
    return this.runs.read(pathProject(path), 'scores', id);
  }

  /** Deletes scores, with the calls below them. */
  @Delete('scores')
  @Allow('writer')
  deleteScores(
    @Query(QueryPipe) { score_ids }: ScoresDeleteDto,
    @Ctx() { caller }: Context,
    @Param() path: ProjectPath,
  ): Promise<DeletedDto> {
    return this.runs.delete(pathProject(path), 'scores', score_ids, caller);
  }
}
