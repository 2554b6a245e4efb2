import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import {
  LangfuseController,
  LangfuseHealthController,
  MediaContentController,
} from './langfuse.controller.js';
import { LangfusePromptsController } from './prompts/langfuse-prompts.controller.js';
import { LangfuseService } from './langfuse.service.js';
import { MediaService } from './media.service.js';

/** Receives what SDKs of Langfuse send beside OTLP: events, scores, media and prompts. */
@Module({
  imports: [CallsModule, FeedbackModule, ObjectsModule],
  controllers: [
    LangfuseController,
    LangfusePromptsController,
    LangfuseHealthController,
    MediaContentController,
  ],
  providers: [LangfuseService, MediaService],
})
export class LangfuseModule {}
