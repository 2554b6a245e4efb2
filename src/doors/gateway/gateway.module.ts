import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { CostsModule } from '../../tracing/costs/costs.module.js';
import { PreviewModule } from '../../training/preview.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { BudgetsService } from './budgets.service.js';
import { CompletionsController } from './completions.controller.js';
import { CompletionsService } from './completions.service.js';
import { GatewayController } from './gateway.controller.js';
import { GatewayService } from './gateway.service.js';
import { ModelNamesService } from './model-names.service.js';
import { ProcessesService } from './processes.service.js';
import { ProviderKeys } from './provider-keys.service.js';
import { ConcurrencyService } from './concurrency.service.js';

/** Relays requests for models to providers, and records them as calls. */
@Module({
  imports: [CallsModule, CostsModule, ObjectsModule, PreviewModule],
  controllers: [GatewayController, CompletionsController],
  providers: [
    GatewayService,
    CompletionsService,
    ModelNamesService,
    BudgetsService,
    ProcessesService,
    ProviderKeys,
    ConcurrencyService,
  ],
})
export class GatewayModule {}
