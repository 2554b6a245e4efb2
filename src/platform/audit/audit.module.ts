import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';
import { KeyUses } from './key-uses.js';

/** Who did what: features add events with `addEvent`, admins ask for them here. */
@Module({
  controllers: [AuditController],
  providers: [AuditService, KeyUses],
  exports: [KeyUses],
})
export class AuditModule {}
