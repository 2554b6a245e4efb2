import { Module } from '@nestjs/common';
import { CallsModule } from '../../tracing/calls/calls.module.js';
import { FeedbackModule } from '../../tracing/feedback/feedback.module.js';
import { ObjectsModule } from '../../tracing/objects/objects.module.js';
import { ProjectsModule } from '../../tracing/projects/projects.module.js';
import { ThreadsModule } from '../../tracing/threads/threads.module.js';
import { BuildsModule } from '../../training/builds/builds.module.js';
import { PreviewModule } from '../../training/preview.module.js';
import { CallTools } from './calls.tools.js';
import { FeedbackTools } from './feedback.tools.js';
import { McpController, McpSessionsController } from './mcp.controller.js';
import { McpService } from './mcp.service.js';
import { ObjectTools } from './objects.tools.js';
import { ProjectTools } from './projects.tools.js';
import { ThreadTools } from './threads.tools.js';
import { type ToolSource, TOOLS } from './tool.js';
import { TraceTools } from './traces.tools.js';
import { TrainingTools } from './training.tools.js';

const CLASSES = [
  ProjectTools,
  CallTools,
  TraceTools,
  ThreadTools,
  ObjectTools,
  FeedbackTools,
  TrainingTools,
];

/** Serves tools for agents that read traces, by the Model Context Protocol. */
@Module({
  imports: [
    CallsModule,
    FeedbackModule,
    ObjectsModule,
    ProjectsModule,
    ThreadsModule,
    BuildsModule,
    PreviewModule,
  ],
  controllers: [McpController, McpSessionsController],
  providers: [
    McpService,
    ...CLASSES,
    { provide: TOOLS, inject: CLASSES, useFactory: (...tools: ToolSource[]) => tools },
  ],
})
export class McpModule {}
