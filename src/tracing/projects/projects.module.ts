import { Module } from '@nestjs/common';
import { ProjectsController, ProjectStatsController } from './projects.controller.js';
import { ProjectsRefresher } from './projects.refresher.js';
import { ProjectsService } from './projects.service.js';

/** Counts of projects, which are updated with every write. */
@Module({
  controllers: [ProjectsController, ProjectStatsController],
  providers: [ProjectsService, ProjectsRefresher],
  exports: [ProjectsService],
})
export class ProjectsModule {}
