import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { CostsModule } from '../../tracing/costs/costs.module.js';
import { PreviewModule } from '../../training/preview.module.js';
import { BudgetsService } from './budgets.service.js';
import { GatewayController } from './gateway.controller.js';
import { GatewayService } from './gateway.service.js';
import { ModelNamesService } from './model-names.service.js';
import { ProcessesService } from './processes.service.js';
import { ProviderKeys } from './provider-keys.service.js';
import { ConcurrencyService } from './concurrency.service.js';

/** Relays requests for models to providers, and records them as calls. */
@Module({
  imports: [CallsModule, CostsModule, PreviewModule],
  controllers: [GatewayController],
  providers: [
    GatewayService,
    ModelNamesService,
    BudgetsService,
    ProcessesService,
    ProviderKeys,
    ConcurrencyService,
  ],
  exports: [GatewayService],
})
export class GatewayModule {}
