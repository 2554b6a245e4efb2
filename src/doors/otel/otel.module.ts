import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { CostsModule } from '../../tracing/costs/costs.module.js';
import { LogsService } from './logs.service.js';
import { OtelController } from './otel.controller.js';
import { OtelService } from './otel.service.js';

/** Takes OpenTelemetry spans as calls, and messages of these from log records. */
@Module({
  imports: [CallsModule, CostsModule],
  controllers: [OtelController],
  providers: [OtelService, LogsService],
})
export class OtelModule {}
