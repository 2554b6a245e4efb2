import { Module } from '@nestjs/common';
import { FilesController } from './files.controller.js';
import { FilesService } from './files.service.js';
import { LabelsController } from './labels.controller.js';
import { LabelsService } from './labels.service.js';
import { ObjectsErasingController } from './objects-erasing.controller.js';
import { ObjectsErasingService } from './objects-erasing.service.js';
import { ObjectsController } from './objects.controller.js';
import { ObjectsService } from './objects.service.js';
import { RefsService } from './refs.service.js';
import { TablesController } from './tables.controller.js';
import { TablesService } from './tables.service.js';

/** Versions of objects and ops, which SDKs publish before they trace, with their tables and files. */
@Module({
  controllers: [
    ObjectsController,
    ObjectsErasingController,
    LabelsController,
    TablesController,
    FilesController,
  ],
  providers: [
    ObjectsService,
    ObjectsErasingService,
    LabelsService,
    RefsService,
    TablesService,
    FilesService,
  ],
  exports: [ObjectsService, TablesService, FilesService],
})
export class ObjectsModule {}
