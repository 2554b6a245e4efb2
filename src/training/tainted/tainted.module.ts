import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { PreviewModule } from '../preview.module.js';
import { TaintedController } from './tainted.controller.js';
import { TaintedService } from './tainted.service.js';

/** Marks and lists builds, jobs and checkpoints that were trained on purged calls. */
@Module({
  imports: [CallsModule, PreviewModule],
  controllers: [TaintedController],
  providers: [TaintedService],
  exports: [TaintedService],
})
export class TaintedModule {}
