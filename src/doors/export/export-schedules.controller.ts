import { Body } from '@nestjs/common';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { Context, Ctx } from '../../platform/http/context.js';
import {
  ExportScheduleAnswerDto,
  ExportScheduleDeleteDto,
  ExportScheduleDto,
  ExportSchedulesAnswerDto,
  ExportSchedulesQueryDto,
} from './export-schedules.dto.js';
import { ExportSchedulesService } from './export-schedules.service.js';

@Resource('export', BasicAuth(), 'export/schedules')
export class ExportSchedulesController {
  constructor(private readonly schedules: ExportSchedulesService) {}

  /** Sets an export that the service writes to the folder or bucket of the operator, hour by hour or day by day. */
  @Operation('set', 'admin')
  @Idempotent()
  set(
    @Body() body: ExportScheduleDto,
    @Ctx() { caller }: Context,
  ): Promise<ExportScheduleAnswerDto> {
    return this.schedules.set(body, caller);
  }

  /** Lists the exports by schedule of a project, with how far they are and why the last try has failed. */
  @Operation('query', 'admin')
  query(@Body() { project_id }: ExportSchedulesQueryDto): Promise<ExportSchedulesAnswerDto> {
    return this.schedules.query(project_id);
  }

  /** Deletes an export by schedule, and lists the others. Its files are removed in the background. */
  @Operation('delete', 'admin')
  @BeyondQuotas()
  @Idempotent()
  delete(
    @Body() body: ExportScheduleDeleteDto,
    @Ctx() { caller }: Context,
  ): Promise<ExportSchedulesAnswerDto> {
    return this.schedules.delete(body, caller);
  }
}
