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
import { ObjectsPurgeDto } from '../objects.dto.js';
import { ObjectsErasingService } from './objects-erasing.service.js';

@Resource('erasing', BasicAuth(), 'objs')
export class ObjectsErasingController {
  constructor(
    private readonly objects: ObjectsErasingService,
    private readonly erasings: ErasingsService,
    private readonly idempotency: Idempotency,
  ) {}

  /**
   * Erases versions of an object for good, with the feedback on them. Erases all named versions or, if one does not
   * exist, none; without names, all versions. Tables and files that they refer to remain.
   */
  @Operation('purge', 'admin')
  @BeyondQuotas()
  @IdempotentInHandler()
  async purge(@Body() body: ObjectsPurgeDto, @Ctx() context: Context): Promise<ErasedDto> {
    const begin = () => this.objects.begin(body, context.caller);
    return this.erasings.run(body.project_id, () => this.idempotency.once(context, begin));
  }
}
