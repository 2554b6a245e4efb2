import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { RetrainDto, RetrainedDto } from './retrains.dto.js';
import { RetrainsService } from './retrains.service.js';

@Resource('builds', BasicAuth())
export class RetrainsController {
  constructor(private readonly retrains: RetrainsService) {}

  /**
   * Queues jobs that do again what led to a checkpoint that was trained on purged calls, from its nearest clean ancestor on: by the
   * recipes of its builds, with the units that are left.
   */
  @Operation('lineage/retrain', 'writer')
  @ApiOkResponse({ type: RetrainedDto })
  retrain(@Body() body: RetrainDto, @Ctx() context: Context): Promise<RetrainedDto> {
    return this.retrains.retrain(body, context);
  }
}
