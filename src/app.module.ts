import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { AnnotationModule } from './tracing/annotation/annotation.module.js';
import { DatasetsModule } from './tracing/datasets/datasets.module.js';
import { AuthModule } from './platform/auth/auth.module.js';
import { AuditModule } from './platform/audit/audit.module.js';
import { BackupsModule } from './platform/backup/backups.module.js';
import { BuildsModule } from './training/builds/builds.module.js';
import { CallsModule } from './tracing/calls/calls.module.js';
import { ErrorFilter } from './platform/http/error.filter.js';
import type { Config } from './platform/config/config.js';
import { ConfigModule } from './platform/config/config.module.js';
import { ConsoleModule } from './doors/console/console.module.js';
import { CostsModule } from './tracing/costs/costs.module.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { PeopleModule } from './platform/people/people.module.js';
import { ErasingModule } from './platform/erasing/erasing.module.js';
import { EventsModule } from './platform/events/events.module.js';
import { EvaluationsModule } from './tracing/evaluations/evaluations.module.js';
import { ExportModule } from './doors/export/export.module.js';
import { FeedbackModule } from './tracing/feedback/feedback.module.js';
import { GatewayModule } from './doors/gateway/gateway.module.js';
import { McpModule } from './doors/mcp/mcp.module.js';
import { LangfuseModule } from './doors/langfuse/langfuse.module.js';
import { ObjectsModule } from './tracing/objects/objects.module.js';
import { OperationsModule } from './platform/operations/operations.module.js';
import { OtelModule } from './doors/otel/otel.module.js';
import { PromotionModule } from './training/promotion/promotion.module.js';
import { TaintedModule } from './training/tainted/tainted.module.js';
import { ProjectsModule } from './tracing/projects/projects.module.js';
import { RetentionModule } from './tracing/retention/retention.module.js';
import { ThreadsModule } from './tracing/threads/threads.module.js';
import { PreviewModule } from './training/preview.module.js';
import { SftModule } from './training/sft/sft.module.js';
import { WeaveModule } from './doors/weave/weave.module.js';

/** The list of features. To add a feature, add its module here. */
@Module({})
export class AppModule {
  static forDataSource(dataSource: DataSource, config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.of(config),
        DatabaseModule.forDataSource(dataSource),
        AuditModule,
        AuthModule,
        PeopleModule,
        ErasingModule,
        OperationsModule,
        BackupsModule,
        CallsModule,
        ObjectsModule,
        CostsModule,
        FeedbackModule,
        AnnotationModule,
        DatasetsModule,
        ThreadsModule,
        OtelModule,
        GatewayModule,
        LangfuseModule,
        McpModule,
        ExportModule,
        PreviewModule,
        ProjectsModule,
        RetentionModule,
        BuildsModule,
        SftModule,
        PromotionModule,
        TaintedModule,
        EvaluationsModule,
        WeaveModule,
        EventsModule,
        ConsoleModule,
      ],
      providers: [{ provide: APP_FILTER, useClass: ErrorFilter }],
    };
  }
}
