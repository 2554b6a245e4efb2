import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { RetentionClockService } from './retention-clock.service.js';
import { RetentionController, TtlSettingsController } from './retention.controller.js';
import { RetentionService } from './retention.service.js';
import { RetentionSweeper } from './retention.sweeper.js';

@Module({
  imports: [CallsModule],
  controllers: [RetentionController, TtlSettingsController],
  providers: [RetentionService, RetentionClockService, RetentionSweeper],
})
export class RetentionModule {}
