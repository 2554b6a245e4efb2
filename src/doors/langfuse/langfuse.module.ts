import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { LangfuseController, LangfuseHealthController } from './langfuse.controller.js';
import { LangfuseService } from './langfuse.service.js';

/** What SDKs of Langfuse send besides OTLP. */
@Module({
  imports: [CallsModule, FeedbackModule],
  controllers: [LangfuseController, LangfuseHealthController],
  providers: [LangfuseService],
})
export class LangfuseModule {}
