import { Body, Controller, Param, type StreamableFile, UseGuards } from '@nestjs/common';
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import { BasicAuth, NoProjectField, Operation } from '../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import { type ProjectPath, ProjectPathGuard } from '../project-path.guard.js';
import { EvalCompareService } from './eval-compare.service.js';
import {
  EvalCompareDto,
  EvalComparedDto,
  EvalResultsDto,
  EvalResultsQueryDto,
} from './eval-results.dto.js';
import { EvalResultsService } from './eval-results.service.js';

@ApiTags('evaluations')
@ApiParam({ name: 'entity', example: 'acme' })
@ApiParam({ name: 'project', example: 'demo' })
@NoProjectField('ProjectPathGuard checks the project of the path')
@UseGuards(ProjectPathGuard)
@BasicAuth()
@Controller('v2/:entity/:project/eval_results')
export class EvalResultsController {
  constructor(
    private readonly results: EvalResultsService,
    private readonly comparisons: EvalCompareService,
  ) {}

  /** Reads evaluations side by side: rows, their trials with outputs and scores, and statistics of the scores. */
  @Operation('query', 'reader')
  @ApiOkResponse({ type: EvalResultsDto })
  async query(
    @Body() query: EvalResultsQueryDto,
    @Ctx() context: Context,
    @Param() { entity, project }: ProjectPath,
  ): Promise<StreamableFile> {
    const { rows, members } = await this.results.query(`${entity}/${project}`, query, context);
    return jsonArray(rows, context, 'rows', members);
  }

  /**
   * Compares evaluations with a baseline row by row. Reports differences of scores, latency, tokens and costs, with
   * intervals and tests.
   */
  @Operation('compare', 'reader')
  compare(
    @Body() body: EvalCompareDto,
    @Ctx() context: Context,
    @Param() { entity, project }: ProjectPath,
  ): Promise<EvalComparedDto> {
    return this.comparisons.compare(`${entity}/${project}`, body, context);
  }
}
