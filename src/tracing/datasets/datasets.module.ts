import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { ObjectsModule } from '../objects/objects.module.js';
import { CallRowsService } from './call-rows.service.js';
import { DatasetsController } from './datasets.controller.js';
import { DatasetsErasing } from './datasets-erasing.service.js';
import { ImportsService } from './imports.service.js';
import { DatasetsService } from './datasets.service.js';

/** Datasets that are built from calls, and from files. */
@Module({
  imports: [CallsModule, ObjectsModule],
  controllers: [DatasetsController],
  providers: [DatasetsService, DatasetsErasing, CallRowsService, ImportsService],
  exports: [DatasetsService],
})
export class DatasetsModule {}
