import type { Client } from 'pg';
import {
  DataSource,
  type DataSourceOptions,
  DefaultNamingStrategy,
  type Table as AnyTable,
} from 'typeorm';
import { AuditEvent } from './src/platform/audit/audit-event.entity.js';
import { ApiKey } from './src/platform/auth/api-key.entity.js';
import { ConsoleSession } from './src/platform/auth/console-session.entity.js';
import { IdempotencyKey } from './src/platform/auth/idempotency-key.entity.js';
import { BuildChunk } from './src/training/builds/build-chunk.entity.js';
import { BuildInput } from './src/training/builds/build-input.entity.js';
import { BuildJob } from './src/training/builds/build-job.entity.js';
import { BuildUnit } from './src/training/builds/build-unit.entity.js';
import { Build } from './src/training/builds/build.entity.js';
import { Call } from './src/tracing/calls/call.entity.js';
import { CallIndex } from './src/tracing/calls/indexes/call-index.entity.js';
import { CallIndexes1765200000000 } from './src/platform/database/migrations/1765200000000-call-indexes.js';
import { CallSlotMark } from './src/tracing/calls/stats/call-slot-mark.entity.js';
import { CallSlotModel } from './src/tracing/calls/stats/call-slot-model.entity.js';
import { CallSlot } from './src/tracing/calls/stats/call-slot.entity.js';
import { config } from './src/platform/config/process-config.js';
import { Cost } from './src/tracing/costs/cost.entity.js';
import { SESSION } from './src/platform/database/limits.js';
import { Foundation1764000000000 } from './src/platform/database/migrations/1764000000000-foundation.js';
import { Objects1764100000000 } from './src/platform/database/migrations/1764100000000-objects.js';
import { Bounds1764700000000 } from './src/platform/database/migrations/1764700000000-bounds.js';
import { Erasing1764800000000 } from './src/platform/database/migrations/1764800000000-erasing.js';
import { Builds1765000000000 } from './src/platform/database/migrations/1765000000000-builds.js';
import { CallSlots1765100000000 } from './src/platform/database/migrations/1765100000000-call-slots.js';
import { CallLists1765160000000 } from './src/platform/database/migrations/1765160000000-call-lists.js';
import { SummaryMembers1765300000000 } from './src/platform/database/migrations/1765300000000-summary-members.js';
import { Projects1765150000000 } from './src/platform/database/migrations/1765150000000-projects.js';
import { ConsoleSessions1765400000000 } from './src/platform/database/migrations/1765400000000-console-sessions.js';
import { ObjectLabels1765600000000 } from './src/platform/database/migrations/1765600000000-object-labels.js';
import { CallMessages1765700000000 } from './src/platform/database/migrations/1765700000000-call-messages.js';
import { Shards1765800000000 } from './src/platform/database/migrations/1765800000000-shards.js';
import { FirstPlans1765900000000 } from './src/platform/database/migrations/1765900000000-first-plans.js';
import { beginSession } from './src/platform/database/session.js';
import { Upload } from './src/platform/database/upload.entity.js';
import { Erasing } from './src/platform/erasing/erasing.entity.js';
import { FileChunk } from './src/tracing/objects/file-chunk.entity.js';
import { File } from './src/tracing/objects/file.entity.js';
import { ObjectAlias } from './src/tracing/objects/object-alias.entity.js';
import { ObjectTag } from './src/tracing/objects/object-tag.entity.js';
import { ObjectVersion } from './src/tracing/objects/object-version.entity.js';
import { TableRow } from './src/tracing/objects/table-row.entity.js';
import { Table } from './src/tracing/objects/table.entity.js';
import { FeedbackCosts1764200000000 } from './src/platform/database/migrations/1764200000000-feedback-costs.js';
import { Feedback } from './src/tracing/feedback/feedback.entity.js';
import { Threads1764300000000 } from './src/platform/database/migrations/1764300000000-threads.js';
import { ThreadMark } from './src/tracing/threads/thread-mark.entity.js';
import { Thread } from './src/tracing/threads/thread.entity.js';
import { Preview1764400000000 } from './src/platform/database/migrations/1764400000000-preview.js';
import { Plans1764600000000 } from './src/platform/database/migrations/1764600000000-plans.js';
import { BodyChunk } from './src/training/trajectories/body-chunk.entity.js';
import { Checkpoint } from './src/training/models/checkpoint.entity.js';
import { Model } from './src/training/models/model.entity.js';
import { TrainingJob } from './src/training/jobs/training-job.entity.js';
import { TrainingJobEvent } from './src/training/jobs/training-job-event.entity.js';
import { TrajectoryBatch } from './src/training/trajectories/trajectory-batch.entity.js';
import { TrajectoryRecord } from './src/training/trajectories/trajectory.entity.js';
import { ProjectMark } from './src/tracing/projects/project-mark.entity.js';
import { Project } from './src/tracing/projects/project.entity.js';
import { RetentionPolicy } from './src/tracing/retention/retention-policy.entity.js';

/** A connection attempt takes at most this long, then the request that wanted it is answered 503. */
const CONNECT_TIMEOUT_MS = 5000;

/** Primary keys have the names that PostgreSQL gives them. */
class Names extends DefaultNamingStrategy {
  override primaryKeyName(table: AnyTable | string): string {
    return `${this.getTableName(table)}_pkey`;
  }
}

/** The one data source: of the app, of its commands, and of the TypeORM command line. */
export function dataSourceOptions(
  url: string,
  session = SESSION,
  poolSize = config.databasePoolSize,
) {
  return {
    type: 'postgres',
    url,
    entities: [
      ApiKey,
      ConsoleSession,
      AuditEvent,
      Erasing,
      RetentionPolicy,
      IdempotencyKey,
      Call,
      CallIndex,
      CallSlot,
      CallSlotModel,
      CallSlotMark,
      Project,
      ProjectMark,
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
      Cost,
      BodyChunk,
      Checkpoint,
      Model,
      TrainingJob,
      TrainingJobEvent,
      TrajectoryBatch,
      TrajectoryRecord,
      Upload,
      Build,
      BuildChunk,
      BuildInput,
      BuildUnit,
      BuildJob,
    ],
    migrations: [
      Foundation1764000000000,
      Objects1764100000000,
      FeedbackCosts1764200000000,
      Threads1764300000000,
      Preview1764400000000,
      Plans1764600000000,
      Bounds1764700000000,
      Erasing1764800000000,
      Builds1765000000000,
      CallSlots1765100000000,
      Projects1765150000000,
      CallLists1765160000000,
      CallIndexes1765200000000,
      SummaryMembers1765300000000,
      ConsoleSessions1765400000000,
      ObjectLabels1765600000000,
      CallMessages1765700000000,
      Shards1765800000000,
      FirstPlans1765900000000,
    ],
    namingStrategy: new Names(),
    synchronize: false,
    installExtensions: false,
    applicationName: 'skein',
    poolSize,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: {
      keepAlive: true,
      onConnect: (client: Client) => beginSession(client, session),
    },
  } satisfies DataSourceOptions;
}

/** For `npm run build && npx typeorm <command> -d dist/ormconfig.js`, which works on `DATABASE_URL`. */
export default new DataSource(
  dataSourceOptions(config.databaseUrl ?? 'postgres://localhost/skein'),
);
