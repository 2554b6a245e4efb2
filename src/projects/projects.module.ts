import { Module } from '@nestjs/common';
import { ProjectsController, ProjectStatsController } from './projects.controller.js';
import { ProjectsRefresher } from './projects.refresher.js';
import { ProjectsService } from './projects.service.js';

/** What projects hold, counted as it is written. */
@Module({
  controllers: [ProjectsController, ProjectStatsController],
  providers: [ProjectsService, ProjectsRefresher],
  exports: [ProjectsService],
})
export class ProjectsModule {}
