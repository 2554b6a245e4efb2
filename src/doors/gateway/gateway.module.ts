import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { CostsModule } from '../../tracing/costs/costs.module.js';
import { PreviewModule } from '../../training/preview.module.js';
import { BudgetsService } from './budgets.service.js';
import { GatewayController } from './gateway.controller.js';
import { GatewayService } from './gateway.service.js';
import { NamesService } from './names.service.js';
import { ProviderKeys } from './provider-keys.service.js';

/** Requests for models, which providers answer and Skein records. */
@Module({
  imports: [CallsModule, CostsModule, PreviewModule],
  controllers: [GatewayController],
  providers: [GatewayService, NamesService, BudgetsService, ProviderKeys],
})
export class GatewayModule {}
