import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { ObjectsModule } from '../objects/objects.module.js';
import { EvalCompareService } from './eval-compare.service.js';
import { EvalResultsController } from './eval-results.controller.js';
import { EvalResultsService } from './eval-results.service.js';
import { EvaluationStatusService } from './evaluation-status.service.js';
import { EvaluationsController } from './evaluations.controller.js';
import { KeptTrialsRefresher } from './kept-trials/kept-trials.refresher.js';

/** Evaluations. They are recorded as calls and objects, and read as rows of results. */
@Module({
  imports: [CallsModule, ObjectsModule],
  controllers: [EvaluationsController, EvalResultsController],
  providers: [EvalResultsService, EvalCompareService, EvaluationStatusService, KeptTrialsRefresher],
})
export class EvaluationsModule {}
