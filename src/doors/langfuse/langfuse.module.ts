import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import {
  LangfuseController,
  LangfuseHealthController,
  MediaContentController,
} from './langfuse.controller.js';
import { LangfuseService } from './langfuse.service.js';
import { MediaService } from './media.service.js';

/** Receives what SDKs of Langfuse send beside OTLP: events, scores and media. */
@Module({
  imports: [CallsModule, FeedbackModule, ObjectsModule],
  controllers: [LangfuseController, LangfuseHealthController, MediaContentController],
  providers: [LangfuseService, MediaService],
})
export class LangfuseModule {}
