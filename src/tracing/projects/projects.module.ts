import { Module } from '@nestjs/common';
import { ProjectsController, ProjectStatsController } from './projects.controller.js';
import { ProjectsRefresher } from './projects.refresher.js';
import { ProjectsService } from './projects.service.js';

/** The contents of projects, counted as they are written. */
@Module({
  controllers: [ProjectsController, ProjectStatsController],
  providers: [ProjectsService, ProjectsRefresher],
  exports: [ProjectsService],
})
export class ProjectsModule {}
