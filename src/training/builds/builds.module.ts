import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { PreviewModule } from '../preview.module.js';
import { TaintedModule } from '../tainted/tainted.module.js';
import { Builder } from './builder.js';
import { BuildsController } from './builds.controller.js';
import { BuildOutputsService } from './build-outputs.service.js';
import { BuildsErasing } from './builds-erasing.service.js';
import { BuildsService } from './builds.service.js';
import { LineageService } from './lineage.service.js';
import { RecipesService } from './recipes.service.js';
import { RetrainsController } from './retrains.controller.js';
import { RetrainsService } from './retrains.service.js';
import { UnitsService } from './units.service.js';

/** Turns recorded calls into training data: recipes, builds, exports, and the lineage of checkpoints. */
@Module({
  imports: [CallsModule, ObjectsModule, PreviewModule, TaintedModule],
  controllers: [BuildsController, RetrainsController],
  providers: [
    Builder,
    BuildOutputsService,
    BuildsErasing,
    BuildsService,
    LineageService,
    RecipesService,
    RetrainsService,
    UnitsService,
  ],
  exports: [BuildOutputsService, BuildsService],
})
export class BuildsModule {}
