import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { PreviewModule } from '../preview.module.js';
import { TaintedModule } from '../tainted/tainted.module.js';
import { Builder } from './groups/builder.js';
import { BuildsController } from './builds.controller.js';
import { BuildOutputsService } from './exports/build-outputs.service.js';
import { BuildsErasing } from './builds-erasing.service.js';
import { BuildsService } from './builds.service.js';
import { LineageService } from './lineage/lineage.service.js';
import { LineageController } from './lineage/lineage.controller.js';
import { RetrainsService } from './lineage/retrains.service.js';
import { UnitsService } from './units/units.service.js';

/** Turns recorded calls into training data: recipes, builds, exports, and the lineage of checkpoints. */
@Module({
  imports: [CallsModule, ObjectsModule, PreviewModule, TaintedModule],
  controllers: [BuildsController, LineageController],
  providers: [
    Builder,
    BuildOutputsService,
    BuildsErasing,
    BuildsService,
    LineageService,
    RetrainsService,
    UnitsService,
  ],
  exports: [BuildOutputsService, BuildsService],
})
export class BuildsModule {}
