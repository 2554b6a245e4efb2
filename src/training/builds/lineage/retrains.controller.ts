import { Body } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { RetrainDto, RetrainedDto } from './retrains.dto.js';
import { RetrainsService } from './retrains.service.js';

@Resource('builds', BasicAuth())
export class RetrainsController {
  constructor(private readonly retrains: RetrainsService) {}

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
