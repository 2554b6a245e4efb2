import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';
import { KeyUses } from './key-uses.js';

/** The audit log: features add events with `addEvent`, and admins query them here. */
@Module({
  controllers: [AuditController],
  providers: [AuditService, KeyUses],
  exports: [KeyUses],
})
export class AuditModule {}
