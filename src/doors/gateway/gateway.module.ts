import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { CostsModule } from '../../tracing/costs/costs.module.js';
import { PreviewModule } from '../../training/preview.module.js';
import { AdmissionStage } from './admission/admission.stage.js';
import { BudgetsService } from './admission/budgets.service.js';
import { ConcurrencyService } from './admission/concurrency.service.js';
import { ModelNamesService } from './admission/model-names.service.js';
import { GatewayController } from './gateway.controller.js';
import { GatewayService } from './gateway.service.js';
import { CallEndStage } from './recording/call-end.stage.js';
import { CallStartStage } from './recording/call-start.stage.js';
import { ProcessesService } from './recording/processes.service.js';
import { RelayingStage } from './relaying/relaying.stage.js';

/** Relays requests for models to providers, and records them as calls. */
@Module({
  imports: [CallsModule, CostsModule, PreviewModule],
  controllers: [GatewayController],
  providers: [
    GatewayService,
    AdmissionStage,
    CallStartStage,
    RelayingStage,
    CallEndStage,
    ModelNamesService,
    BudgetsService,
    ConcurrencyService,
    ProcessesService,
  ],
  exports: [GatewayService],
})
export class GatewayModule {}
