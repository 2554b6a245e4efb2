import { Module } from '@nestjs/common';
import { ModelsController } from './models/models.controller.js';
import { ModelsService } from './models/models.service.js';
import { Aliases } from './promotion/aliases.service.js';
import { CheckpointFilesService } from './checkpoints/checkpoint-files.service.js';
import { PayloadsService } from './trajectories/payloads.service.js';
import { WholeTrajectories } from './trajectories/whole-trajectories.service.js';
import { TrainerFilesService } from './jobs/trainer-files.service.js';
import { QueueService } from './jobs/queue.service.js';
import { TrainerController } from './jobs/trainer.controller.js';
import { TrainingJobsController } from './jobs/training-jobs.controller.js';
import { TrainingJobsService } from './jobs/training-jobs.service.js';
import { ServingController } from './serving/serving.controller.js';
import { ServingService } from './serving/serving.service.js';
import { UploadsService } from './trajectories/uploads.service.js';

/** Models that are trained: their logs, the jobs that train them, and the trainers that run the jobs. */
@Module({
  controllers: [ModelsController, TrainingJobsController, TrainerController, ServingController],
  providers: [
    ModelsService,
    Aliases,
    TrainingJobsService,
    QueueService,
    TrainerFilesService,
    CheckpointFilesService,
    UploadsService,
    PayloadsService,
    WholeTrajectories,
    ServingService,
  ],
  exports: [
    ModelsService,
    Aliases,
    PayloadsService,
    ServingService,
    TrainingJobsService,
    UploadsService,
  ],
})
export class PreviewModule {}
