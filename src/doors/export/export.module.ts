import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { DatasetsModule } from '../../tracing/datasets/datasets.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { ExportSchedulesController } from './export-schedules.controller.js';
import { ExportSchedulesService } from './export-schedules.service.js';
import { ExportController } from './export.controller.js';
import { ExportService } from './export.service.js';
import { ExportsKeeper } from './exports.keeper.js';

/** Files of calls, feedback and tables, for warehouses: by request and by schedule. */
@Module({
  imports: [CallsModule, DatasetsModule, FeedbackModule, ObjectsModule],
  controllers: [ExportController, ExportSchedulesController],
  providers: [ExportService, ExportSchedulesService, ExportsKeeper],
})
export class ExportModule {}
