import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { RetentionController } from './retention.controller.js';
import { RetentionService } from './retention.service.js';
import { RetentionSweeper } from './retention.sweeper.js';

/** How long projects keep what, and what sees to it. */
@Module({
  imports: [CallsModule],
  controllers: [RetentionController],
  providers: [RetentionService, RetentionSweeper],
})
export class RetentionModule {}
