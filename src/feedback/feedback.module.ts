import { Module } from '@nestjs/common';
import { FeedbackController } from './feedback.controller.js';
import { FeedbackService } from './feedback.service.js';

/** What people and programs say about objects, ops and calls. */
@Module({ controllers: [FeedbackController], providers: [FeedbackService] })
export class FeedbackModule {}
