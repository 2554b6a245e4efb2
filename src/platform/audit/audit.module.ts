import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';
import { KeyUses } from './key-uses.js';

/** Who did what: features insert events by `audit.query.ts`, admins ask for them here. */
@Module({
  controllers: [AuditController],
  providers: [AuditService, KeyUses],
  exports: [KeyUses],
})
export class AuditModule {}
