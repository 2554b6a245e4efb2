import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { LineageAnswerDto, LineageQueryDto, RetrainDto, RetrainedDto } from './lineage.dto.js';
import { LineageService } from './lineage.service.js';
import { RetrainsService } from './retrains.service.js';

@Resource('builds', BasicAuth())
export class LineageController {
  constructor(
    private readonly lineage: LineageService,
    private readonly retrains: RetrainsService,
  ) {}

  /**
   * Lists the edges between calls, builds, jobs and checkpoints: what calls were used for, and what a checkpoint was
   * trained on.
   */
  @Operation('lineage/query', 'reader')
  @ApiOkResponse({ type: LineageAnswerDto })
  query(@Body() body: LineageQueryDto): Promise<LineageAnswerDto> {
    return this.lineage.query(body);
  }

  /**
   * Queues jobs that repeat the training of a tainted checkpoint, from its nearest clean ancestor on. They use the
   * recipes of its builds, and the units that are left.
   */
  @Operation('lineage/retrain', 'writer')
  @ApiOkResponse({ type: RetrainedDto })
  retrain(@Body() body: RetrainDto, @Ctx() context: Context): Promise<RetrainedDto> {
    return this.retrains.retrain(body, context);
  }
}
