import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { EvaluationsService } from './evaluations.service.js';
import { LogsService } from './logs.service.js';
import { OtelController } from './otel.controller.js';
import { OtelService } from './otel.service.js';
import { SpanPartsService } from './span-parts.service.js';

/** Stores OpenTelemetry spans as calls, and messages, evaluations and events of coding agents from log records. */
@Module({
  imports: [CallsModule, FeedbackModule],
  controllers: [OtelController],
  providers: [OtelService, SpanPartsService, LogsService, EvaluationsService],
})
export class OtelModule {}
