import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { GatewayModule } from '../gateway/gateway.module.js';
import { AgentsController } from './agents/agents.controller.js';
import { AgentsService } from './agents/agents.service.js';
import { ChatService } from './agents/chat.service.js';
import { SearchService } from './agents/search.service.js';
import { SpansService } from './agents/spans.service.js';
import { CallsV2Controller } from './calls-v2.controller.js';
import { CompletionsController } from './completions/completions.controller.js';
import { CompletionsService } from './completions/completions.service.js';
import { EvaluationRunsController } from './evaluation-runs/evaluation-runs.controller.js';
import { EvaluationRunsService } from './evaluation-runs/evaluation-runs.service.js';
import { GraphqlController } from './graphql/graphql.controller.js';
import { TypedObjectsController } from './typed-objects/typed-objects.controller.js';
import { TypedObjectsService } from './typed-objects/typed-objects.service.js';

/** Routes that only clients of weave use. They answer below `/weave`, and at the root. */
@Module({
  imports: [CallsModule, FeedbackModule, ObjectsModule, GatewayModule],
  controllers: [
    CallsV2Controller,
    EvaluationRunsController,
    TypedObjectsController,
    AgentsController,
    CompletionsController,
    GraphqlController,
  ],
  providers: [
    EvaluationRunsService,
    TypedObjectsService,
    AgentsService,
    ChatService,
    SearchService,
    SpansService,
    CompletionsService,
  ],
})
export class WeaveModule {}
