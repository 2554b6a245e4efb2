import { Module } from '@nestjs/common';
import { ConnectionsService } from './connections.service.js';
import { DatabaseMetrics } from './database.metrics.js';
import { OperationsController } from './operations.controller.js';
import { ReadinessMetrics } from './readiness.metrics.js';
import { ReadinessService } from './readiness.service.js';

/** Endpoints for operators and probes. */
@Module({
  controllers: [OperationsController],
  providers: [ReadinessService, ConnectionsService, DatabaseMetrics, ReadinessMetrics],
  exports: [ReadinessService, ConnectionsService],
})
export class OperationsModule {}
