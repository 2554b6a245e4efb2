import { Module } from '@nestjs/common';
import { ModelsController } from './models.controller.js';
import { ModelsService } from './models.service.js';
import { QueueService } from './queue.service.js';
import { TrainerController } from './trainer.controller.js';
import { TrainingJobsController } from './training-jobs.controller.js';
import { TrainingJobsService } from './training-jobs.service.js';
import { UploadsService } from './uploads.service.js';

/** Models under training: what they did, the jobs that train them, and the trainers that run the jobs. */
@Module({
  controllers: [ModelsController, TrainingJobsController, TrainerController],
  providers: [ModelsService, TrainingJobsService, QueueService, UploadsService],
  exports: [TrainingJobsService],
})
export class PreviewModule {}
