import {
  DataSource,
  type DataSourceOptions,
  DefaultNamingStrategy,
  type Table as AnyTable,
} from 'typeorm';
import { AuditEvent } from './src/platform/audit/audit-event.entity.js';
import { ApiKey } from './src/platform/auth/keys/api-key.entity.js';
import { ConsoleSession } from './src/platform/auth/sessions/console-session.entity.js';
import { IdempotencyKey } from './src/platform/auth/idempotency/idempotency-key.entity.js';
import { BuildChunk } from './src/training/builds/build-chunk.entity.js';
import { BuildInput } from './src/training/builds/build-input.entity.js';
import { BuildJob } from './src/training/builds/build-job.entity.js';
import { BuildUnit } from './src/training/builds/build-unit.entity.js';
import { ExportSchedule } from './src/doors/export/export-schedule.entity.js';
import { ExportedFile } from './src/doors/export/exported-file.entity.js';
import { Media } from './src/doors/langfuse/media.entity.js';
import { Build } from './src/training/builds/build.entity.js';
import { FoldedSpan } from './src/tracing/calls/folded/folded-span.entity.js';
import { Call } from './src/tracing/calls/call.entity.js';
import { CallIndex } from './src/tracing/calls/indexes/call-index.entity.js';
import { CallTextMark } from './src/tracing/calls/texts/call-text-mark.entity.js';
import {
  CallTextIds,
  CallTextPart,
  CallTextSegment,
} from './src/tracing/calls/texts/call-text-segment.entity.js';
import { CallTextWalk } from './src/tracing/calls/texts/call-text-walk.entity.js';
import { CallSlotMark } from './src/tracing/calls/stats/call-slot-mark.entity.js';
import { CallSlotModel } from './src/tracing/calls/stats/call-slot-model.entity.js';
import { CallSlot } from './src/tracing/calls/stats/call-slot.entity.js';
import { config } from './src/platform/config/process-config.js';
import { Cost } from './src/tracing/costs/cost.entity.js';
import { SESSION } from './src/platform/database/limits.js';
import { Baseline1765999000000 } from './src/platform/database/migrations/1765999000000-baseline.js';
import { UsageOnce1766000000000 } from './src/platform/database/migrations/1766000000000-usage-once.js';
import { PayloadOnly1766100000000 } from './src/platform/database/migrations/1766100000000-payload-only.js';
import { StoredUsage1766200000000 } from './src/platform/database/migrations/1766200000000-stored-usage.js';
import { KeysOfEntities1766300000000 } from './src/platform/database/migrations/1766300000000-keys-of-entities.js';
import { StartlessCalls1766340000000 } from './src/platform/database/migrations/1766340000000-startless-calls.js';
import { NewestRoots1766400000000 } from './src/platform/database/migrations/1766400000000-newest-roots.js';
import { CheckpointFiles1766410000000 } from './src/platform/database/migrations/1766410000000-checkpoint-files.js';
import { Gateway1766430000000 } from './src/platform/database/migrations/1766430000000-gateway.js';
import { People1766420000000 } from './src/platform/database/migrations/1766420000000-people.js';
import { SftJobs1766450000000 } from './src/platform/database/migrations/1766450000000-sft-jobs.js';
import { Promotion1766440000000 } from './src/platform/database/migrations/1766440000000-promotion.js';
import { GatewayProcesses1766473000000 } from './src/platform/database/migrations/1766473000000-gateway-processes.js';
import { NarrowIndexes1766460000000 } from './src/platform/database/migrations/1766460000000-narrow-indexes.js';
import { TurnsOfANewProject1766470000000 } from './src/platform/database/migrations/1766470000000-turns-of-a-new-project.js';
import { ThreadSources1766531000000 } from './src/platform/database/migrations/1766531000000-thread-sources.js';
import { RequestsOnce1766520000000 } from './src/platform/database/migrations/1766520000000-requests-once.js';
import { OrphanWalk } from './src/tracing/calls/ingest/orphan-walk.entity.js';
import { OrphanWalks1766532000000 } from './src/platform/database/migrations/1766532000000-orphan-walks.js';
import { Orphans1766530000000 } from './src/platform/database/migrations/1766530000000-orphans.js';
import { KeptTrials1766475000000 } from './src/platform/database/migrations/1766475000000-kept-trials.js';
import { Annotation1766474000000 } from './src/platform/database/migrations/1766474000000-annotation.js';
import { AgentSpans1766476000000 } from './src/platform/database/migrations/1766476000000-agent-spans.js';
import { ResponseOrder1766477000000 } from './src/platform/database/migrations/1766477000000-response-order.js';
import { TokenDetails1766510000000 } from './src/platform/database/migrations/1766510000000-token-details.js';
import { UsageReader1766511000000 } from './src/platform/database/migrations/1766511000000-usage-reader.js';
import { Media1766541000000 } from './src/platform/database/migrations/1766541000000-media.js';
import { EventTimes1766540000000 } from './src/platform/database/migrations/1766540000000-event-times.js';
import { RenamedCalls1766550000000 } from './src/platform/database/migrations/1766550000000-renamed-calls.js';
import { CallSources1766590000000 } from './src/platform/database/migrations/1766590000000-call-sources.js';
import { LegalHolds1766611000000 } from './src/platform/database/migrations/1766611000000-legal-holds.js';
import { RetentionByClass1766612000000 } from './src/platform/database/migrations/1766612000000-retention-by-class.js';
import { RetentionClock1766610000000 } from './src/platform/database/migrations/1766610000000-retention-clock.js';
import { UnknownDurations1766580000000 } from './src/platform/database/migrations/1766580000000-unknown-durations.js';
import { FoldedSpans1766570000000 } from './src/platform/database/migrations/1766570000000-folded-spans.js';
import { CONNECTION } from './src/platform/pg/driver.js';
import { beginSession } from './src/platform/pg/session.js';
import { StoredUpload } from './src/platform/database/upload.entity.js';
import { Erasing } from './src/platform/erasing/erasing.entity.js';
import { Membership } from './src/platform/people/membership.entity.js';
import { User } from './src/platform/people/user.entity.js';
import { FileChunk } from './src/tracing/objects/files/file-chunk.entity.js';
import { File } from './src/tracing/objects/files/file.entity.js';
import { ObjectAlias } from './src/tracing/objects/labels/object-alias.entity.js';
import { ObjectTag } from './src/tracing/objects/labels/object-tag.entity.js';
import { ObjectVersion } from './src/tracing/objects/object-version.entity.js';
import { TableRow } from './src/tracing/objects/tables/table-row.entity.js';
import { Table } from './src/tracing/objects/tables/table.entity.js';
import { AnnotationItem } from './src/tracing/annotation/annotation-item.entity.js';
import { AnnotationProgress } from './src/tracing/annotation/annotation-progress.entity.js';
import { AnnotationQueue } from './src/tracing/annotation/annotation-queue.entity.js';
import { DatasetRowSource } from './src/tracing/datasets/dataset-row-source.entity.js';
import { DatasetImportRow } from './src/tracing/datasets/import-row.entity.js';
import { Feedback } from './src/tracing/feedback/feedback.entity.js';
import { KeptTrials } from './src/tracing/evaluations/kept-trials/kept-trials.entity.js';
import { TrialMark } from './src/tracing/evaluations/kept-trials/trial-mark.entity.js';
import { ThreadMark } from './src/tracing/threads/thread-mark.entity.js';
import { Thread } from './src/tracing/threads/thread.entity.js';
import { BodyChunk } from './src/training/trajectories/body-chunk.entity.js';
import { CheckpointChunk } from './src/training/checkpoints/checkpoint-chunk.entity.js';
import { CheckpointPart } from './src/training/checkpoints/checkpoint-part.entity.js';
import { Checkpoint } from './src/training/models/checkpoint.entity.js';
import { Model } from './src/training/models/model.entity.js';
import { ServedCheckpoint } from './src/training/serving/served-checkpoint.entity.js';
import { GatewayProcess } from './src/doors/gateway/recording/gateway-process.entity.js';
import { GatewayUse } from './src/doors/gateway/admission/gateway-use.entity.js';
import { TrainingJob } from './src/training/jobs/training-job.entity.js';
import { TrainingJobEvent } from './src/training/jobs/training-job-event.entity.js';
import { TrainingData } from './src/training/sft/training-data.entity.js';
import { ModelAliasMove } from './src/training/promotion/model-alias-move.entity.js';
import { ModelAlias } from './src/training/promotion/model-alias.entity.js';
import { TrajectoryBatch } from './src/training/trajectories/trajectory-batch.entity.js';
import { TrajectoryRecord } from './src/training/trajectories/trajectory.entity.js';
import { ProjectMark } from './src/tracing/projects/project-mark.entity.js';
import { Project } from './src/tracing/projects/project.entity.js';
import { LegalHold } from './src/platform/audit/legal-hold.entity.js';
import { RetentionClock } from './src/tracing/retention/retention-clock.entity.js';
import { ProjectUse } from './src/tracing/projects/quotas/project-use.entity.js';
import { Quota } from './src/tracing/projects/quotas/quota.entity.js';
import { Quotas1766630000000 } from './src/platform/database/migrations/1766630000000-quotas.js';
import { WrittenBytes1766631000000 } from './src/platform/database/migrations/1766631000000-written-bytes.js';
import { CallTexts1766670000000 } from './src/platform/database/migrations/1766670000000-call-texts.js';
import { DatasetImports1766680000000 } from './src/platform/database/migrations/1766680000000-dataset-imports.js';
import { PartHolds1766650000000 } from './src/platform/database/migrations/1766650000000-part-holds.js';
import { ExportSchedules1766660000000 } from './src/platform/database/migrations/1766660000000-export-schedules.js';
import { RetentionPolicy } from './src/tracing/retention/retention-policy.entity.js';

/** Names primary keys in the same way as PostgreSQL. */
class Names extends DefaultNamingStrategy {
  override primaryKeyName(table: AnyTable | string): string {
    return `${this.getTableName(table)}_pkey`;
  }
}

/** Returns the options of the data source of the app, its commands, and the TypeORM command line. */
export function dataSourceOptions(
  url: string,
  session = SESSION,
  poolSize = config.databasePoolSize,
) {
  return {
    type: 'postgres',
    url,
    entities: [
      FoldedSpan,
      ApiKey,
      ConsoleSession,
      User,
      Membership,
      AuditEvent,
      Erasing,
      LegalHold,
      RetentionClock,
      RetentionPolicy,
      IdempotencyKey,
      Call,
      CallIndex,
      CallSlot,
      CallSlotModel,
      CallSlotMark,
      CallTextMark,
      CallTextSegment,
      CallTextPart,
      CallTextIds,
      CallTextWalk,
      OrphanWalk,
      Project,
      ProjectMark,
      ProjectUse,
      Quota,
      Thread,
      ThreadMark,
      ObjectVersion,
      ObjectTag,
      ObjectAlias,
      Table,
      TableRow,
      File,
      FileChunk,
      Feedback,
      AnnotationQueue,
      AnnotationItem,
      AnnotationProgress,
      DatasetRowSource,
      DatasetImportRow,
      KeptTrials,
      TrialMark,
      Cost,
      BodyChunk,
      Checkpoint,
      CheckpointChunk,
      CheckpointPart,
      Model,
      ServedCheckpoint,
      GatewayUse,
      GatewayProcess,
      ModelAlias,
      ModelAliasMove,
      TrainingJob,
      TrainingJobEvent,
      TrainingData,
      TrajectoryBatch,
      TrajectoryRecord,
      StoredUpload,
      Build,
      BuildChunk,
      BuildInput,
      BuildUnit,
      BuildJob,
      Media,
      ExportSchedule,
      ExportedFile,
    ],
    migrations: [
      Baseline1765999000000,
      UsageOnce1766000000000,
      PayloadOnly1766100000000,
      StoredUsage1766200000000,
      KeysOfEntities1766300000000,
      StartlessCalls1766340000000,
      NewestRoots1766400000000,
      CheckpointFiles1766410000000,
      People1766420000000,
      Gateway1766430000000,
      Promotion1766440000000,
      SftJobs1766450000000,
      NarrowIndexes1766460000000,
      TurnsOfANewProject1766470000000,
      GatewayProcesses1766473000000,
      Annotation1766474000000,
      KeptTrials1766475000000,
      AgentSpans1766476000000,
      ResponseOrder1766477000000,
      TokenDetails1766510000000,
      UsageReader1766511000000,
      RequestsOnce1766520000000,
      Orphans1766530000000,
      ThreadSources1766531000000,
      OrphanWalks1766532000000,
      EventTimes1766540000000,
      Media1766541000000,
      RenamedCalls1766550000000,
      FoldedSpans1766570000000,
      UnknownDurations1766580000000,
      CallSources1766590000000,
      RetentionClock1766610000000,
      LegalHolds1766611000000,
      RetentionByClass1766612000000,
      Quotas1766630000000,
      WrittenBytes1766631000000,
      PartHolds1766650000000,
      ExportSchedules1766660000000,
      CallTexts1766670000000,
      DatasetImports1766680000000,
    ],
    namingStrategy: new Names(),
    synchronize: false,
    installExtensions: false,
    applicationName: 'skein',
    poolSize,
    extra: { ...CONNECTION, onConnect: beginSession(session) },
  } satisfies DataSourceOptions;
}

/** Data source for `npm run build && npx typeorm <command> -d dist/ormconfig.js`, which uses `DATABASE_URL`. */
export default new DataSource(
  dataSourceOptions(config.databaseUrl ?? 'postgres://localhost/skein'),
);
