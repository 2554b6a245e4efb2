import { Module } from '@nestjs/common';
import { CostsModule } from '../costs/costs.module.js';
import { CallsController } from './calls.controller.js';
import { CallsService } from './calls.service.js';
import { CallsWriter } from './calls.writer.js';

/** Recording calls, and reading them back as they were sent. */
@Module({
  imports: [CostsModule],
  controllers: [CallsController],
  providers: [CallsService, CallsWriter],
  exports: [CallsService],
})
export class CallsModule {}
