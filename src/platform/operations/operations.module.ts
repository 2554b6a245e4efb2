import { Module } from '@nestjs/common';
import { ConnectionsService } from './connections.service.js';
import { DatabaseMetrics } from './database.metrics.js';
import { OperationsController } from './operations.controller.js';
import { ReadinessService } from './readiness.service.js';

/** Endpoints for operators and probes. */
@Module({
  controllers: [OperationsController],
  providers: [ReadinessService, ConnectionsService, DatabaseMetrics],
  exports: [ReadinessService, ConnectionsService],
})
export class OperationsModule {}
