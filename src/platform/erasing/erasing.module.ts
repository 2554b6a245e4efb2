import { Global, Module } from '@nestjs/common';
import { ErasingsController } from './erasings.controller.js';
import { ErasingsService } from './erasings.service.js';
import { Pace } from './pace.js';
import { ProjectErasing } from './project-erasing.js';

/** Erases data for good, in small batches. Global, because features register how to erase their data. */
@Global()
@Module({
  controllers: [ErasingsController],
  providers: [ErasingsService, Pace, ProjectErasing],
  exports: [ErasingsService, Pace],
})
export class ErasingModule {}
