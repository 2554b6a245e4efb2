import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { FeedbackController } from './feedback.controller.js';
import { FeedbackAggregateService } from './feedback-aggregate.service.js';
import { FeedbackStatsService } from './feedback-stats.service.js';
import { FeedbackService } from './feedback.service.js';

/** Feedback of people and programs on objects, ops and calls. */
@Module({
  imports: [ObjectsModule],
  controllers: [FeedbackController],
  providers: [FeedbackService, FeedbackAggregateService, FeedbackStatsService],
  exports: [FeedbackService],
})
export class FeedbackModule {}
