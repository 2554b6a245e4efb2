import { Module } from '@nestjs/common';
import { BuildsModule } from '../builds/builds.module.js';
import { PreviewModule } from '../preview.module.js';
import { SftJobsService } from './sft-jobs.service.js';
import { SftController } from './sft.controller.js';
import { TrainingDataService } from './training-data.service.js';

/** Supervised fine-tuning: conversations that clients send, and jobs that train on these or on builds. */
@Module({
  imports: [PreviewModule, BuildsModule],
  controllers: [SftController],
  providers: [SftJobsService, TrainingDataService],
})
export class SftModule {}
