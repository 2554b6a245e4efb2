import { Module } from '@nestjs/common';
import { DatabaseMetrics } from './database.metrics.js';
import { OperationsController } from './operations.controller.js';
import { ReadinessMetrics } from './readiness.metrics.js';
import { ReadinessService } from './readiness.service.js';

/** What operators and probes ask the process itself. */
@Module({
  controllers: [OperationsController],
  providers: [ReadinessService, DatabaseMetrics, ReadinessMetrics],
  exports: [ReadinessService],
})
export class OperationsModule {}
