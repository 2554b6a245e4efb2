import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, NoProjectField, Operation, Resource } from '../auth/access-decorators.js';
import { Context, Ctx } from '../http/context.js';
import { jsonArray } from '../http/json-rows.js';
import { AuditEventsDto, AuditQueryDto } from './audit.dto.js';
import { AuditService } from './audit.service.js';

@NoProjectField('answers what the scopes of the key reach')
@Resource('audit', BasicAuth(), 'audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  /**
   * Lists audit events within the scopes of the key: created, revoked and used keys, deletions, purges, and retention
   * changes.
   */
  @Operation('query', 'admin')
  @ApiOkResponse({ type: AuditEventsDto })
  async query(@Body() query: AuditQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.audit.query(query, context.caller.scopes), context, 'events');
  }
}
