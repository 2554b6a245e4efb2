import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { AnnotationItemsService } from './annotation-items.service.js';
import { AnnotationQueuesController } from './annotation-queues.controller.js';
import { AnnotationQueuesService } from './annotation-queues.service.js';

/** Queues of calls that people judge, one after the other. Their judgements are stored as feedback. */
@Module({
  imports: [CallsModule],
  controllers: [AnnotationQueuesController],
  providers: [AnnotationQueuesService, AnnotationItemsService],
})
export class AnnotationModule {}
