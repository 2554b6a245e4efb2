import { Module } from '@nestjs/common';
import { FilesController } from './files/files.controller.js';
import { FilesService } from './files/files.service.js';
import { LabelsController } from './labels/labels.controller.js';
import { LabelsService } from './labels/labels.service.js';
import { ObjectsErasingController } from './erasing/objects-erasing.controller.js';
import { ObjectsErasingService } from './erasing/objects-erasing.service.js';
import { ObjectsController } from './objects.controller.js';
import { ObjectsService } from './objects.service.js';
import { PromptsController } from './prompts/prompts.controller.js';
import { PromptsReader } from './prompts/prompts-reader.service.js';
import { PromptsService } from './prompts/prompts.service.js';
import { RefsService } from './refs.service.js';
import { TablesController } from './tables/tables.controller.js';
import { TablesService } from './tables/tables.service.js';

/** Versions of objects and ops, which SDKs publish before they trace, with their tables and files, and prompts. */
@Module({
  controllers: [
    ObjectsController,
    ObjectsErasingController,
    LabelsController,
    TablesController,
    FilesController,
    PromptsController,
  ],
  providers: [
    ObjectsService,
    ObjectsErasingService,
    LabelsService,
    RefsService,
    TablesService,
    FilesService,
    PromptsReader,
    PromptsService,
  ],
  exports: [ObjectsService, PromptsService, TablesService, FilesService],
})
export class ObjectsModule {}
