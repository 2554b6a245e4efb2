import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { DatasetsModule } from '../../tracing/datasets/datasets.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { ThreadsModule } from '../../tracing/threads/threads.module.js';
import { BuildsModule } from '../../training/builds/builds.module.js';
import { ExportSchedulesController } from './export-schedules.controller.js';
import { ExportSchedulesService } from './export-schedules.service.js';
import { ExportController } from './export.controller.js';
import { ExportService } from './export.service.js';
import { ExportsKeeper } from './exports.keeper.js';

/** Files of rows for warehouses: by request, and of calls, feedback and tables also by schedule. */
@Module({
  imports: [
    BuildsModule,
    CallsModule,
    DatasetsModule,
    FeedbackModule,
    ObjectsModule,
    ThreadsModule,
  ],
  controllers: [ExportController, ExportSchedulesController],
  providers: [ExportService, ExportSchedulesService, ExportsKeeper],
})
export class ExportModule {}
