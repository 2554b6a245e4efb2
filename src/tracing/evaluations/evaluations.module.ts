import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { FeedbackModule } from '../feedback/feedback.module.js';
import { ObjectsModule } from '../objects/objects.module.js';
import { EvalCompareService } from './eval-compare.service.js';
import { EvalResultsController } from './eval-results.controller.js';
import { EvalResultsService } from './eval-results.service.js';
import { EvaluationRunsController } from './evaluation-runs.controller.js';
import { EvaluationRunsService } from './evaluation-runs.service.js';
import { EvaluationStatusService } from './evaluation-status.service.js';
import { EvaluationsController } from './evaluations.controller.js';
import { KeptTrialsRefresher } from './kept-trials.refresher.js';
import { TypedObjectsController } from './typed-objects.controller.js';
import { TypedObjectsService } from './typed-objects.service.js';

/** Evaluations. They are recorded as calls and objects, and read as rows of results. */
@Module({
  imports: [CallsModule, FeedbackModule, ObjectsModule],
  controllers: [
    EvaluationsController,
    EvalResultsController,
    EvaluationRunsController,
    TypedObjectsController,
  ],
  providers: [
    EvalResultsService,
    EvalCompareService,
    EvaluationStatusService,
    EvaluationRunsService,
    TypedObjectsService,
    KeptTrialsRefresher,
  ],
})
export class EvaluationsModule {}
