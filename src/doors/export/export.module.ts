import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { ExportController } from './export.controller.js';
import { ExportService } from './export.service.js';

/** Files of calls, feedback and tables, for warehouses. */
@Module({
  imports: [CallsModule, FeedbackModule, ObjectsModule],
  controllers: [ExportController],
  providers: [ExportService],
})
export class ExportModule {}
