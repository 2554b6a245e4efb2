import { Module } from '@nestjs/common';
import { AgentsController } from './agents.controller.js';
import { AgentsService } from './agents.service.js';
import { ChatService } from './chat.service.js';
import { SearchService } from './search.service.js';
import { SpansService } from './spans.service.js';

/** Agents, their spans and conversations. They are read from calls that arrived as spans. */
@Module({
  controllers: [AgentsController],
  providers: [AgentsService, ChatService, SearchService, SpansService],
})
export class AgentsModule {}
