import { Module } from '@nestjs/common';
import { ThreadsController } from './threads.controller.js';
import { ThreadsRefresher } from './threads.refresher.js';
import { ThreadsService } from './threads.service.js';
import { TurnTextsService } from './turn-texts.service.js';

/** Returns statistics of threads, and the questions and answers of their turns. */
@Module({
  controllers: [ThreadsController],
  providers: [ThreadsService, ThreadsRefresher, TurnTextsService],
  exports: [ThreadsService, TurnTextsService],
})
export class ThreadsModule {}
