import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../../platform/auth/limits/admission.js';
import {
  Idempotency,
  IdempotentInHandler,
} from '../../../platform/auth/idempotency/idempotency.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { ErasedDto } from '../../../platform/erasing/erasings.dto.js';
import { ErasingsService } from '../../../platform/erasing/erasings.service.js';
import { CallsPurgeDto } from '../calls.dto.js';
import { CallsErasingService } from './calls-erasing.service.js';

@Resource('erasing', BasicAuth(), 'calls')
export class CallsErasingController {
  constructor(
    private readonly calls: CallsErasingService,
    private readonly erasings: ErasingsService,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Erases calls for good, with their feedback. Calls that were deleted before are erased too. Work that takes longer
   * than some seconds goes on in the background: send the same request with the same Idempotency-Key to read the
   * progress.
   */
  @Operation('purge', 'admin')
  @BeyondQuotas()
  @IdempotentInHandler()
  async purge(@Body() body: CallsPurgeDto, @Ctx() context: Context): Promise<ErasedDto> {
    const begin = () => this.calls.begin(body, context.caller);
    return this.erasings.run(body.project_id, () => this.idempotency.once(context, begin));
  }
}
