import { Module } from '@nestjs/common';
import { ProjectsController, ProjectStatsController } from './projects.controller.js';
import { ProjectsRefresher } from './projects.refresher.js';
import { ProjectsService } from './projects.service.js';
import { LargestMetrics } from './quotas/largest.metrics.js';
import { QuotasController } from './quotas/quotas.controller.js';
import { QuotasService } from './quotas/quotas.service.js';

/** Counts of projects, which are updated with every write. */
@Module({
  controllers: [ProjectsController, ProjectStatsController, QuotasController],
  providers: [ProjectsService, ProjectsRefresher, QuotasService, LargestMetrics],
  exports: [ProjectsService, QuotasService],
})
export class ProjectsModule {}
