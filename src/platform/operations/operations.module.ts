import { Module } from '@nestjs/common';
import { PeopleModule } from '../people/people.module.js';
import { BuildService } from './build.service.js';
import { CertificatesMetrics } from './certificates.metrics.js';
import { ConnectionsService } from './connections.service.js';
import { DatabaseMetrics } from './database.metrics.js';
import { DiskWatchMetrics } from './disk-watch.metrics.js';
import { OperationsController } from './operations.controller.js';
import { ReadinessService } from './readiness.service.js';
import { StorageMetrics } from './storage.metrics.js';
import { SystemMetrics } from './system.metrics.js';

@Module({
  imports: [PeopleModule],
  controllers: [OperationsController],
  providers: [
    ReadinessService,
    BuildService,
    ConnectionsService,
    DatabaseMetrics,
    DiskWatchMetrics,
    StorageMetrics,
    SystemMetrics,
    CertificatesMetrics,
  ],
  exports: [ReadinessService, ConnectionsService],
})
export class OperationsModule {}
