import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import { idempotencyKey } from '../../platform/auth/idempotency/idempotency.js';
import type { Context } from '../../platform/http/context.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { groupsMissing, ModelsService } from '../models/models.service.js';
import { checkedId, noSuch, pageJson } from '../pages.js';
import { notifyQueue } from './queue.query.js';
import { QueueService } from './queue.service.js';
import type { TrainingJobsQueryDto, TrajectoriesQueryDto } from './training-jobs.dto.js';
import {
  eventsPage,
  jobInsert,
  jobJson,
  jobsPage,
  findOpenJob,
  findSameSftJob,
  type NewJob,
  type NewSftJob,
  findRetrain,
  trajectoriesQuery,
} from './training-jobs.query.js';
import { findViolation } from '../trajectory-rules.js';
import { WholeTrajectories } from '../trajectories/whole-trajectories.service.js';
import {
  type BodyReader,
  type TrajectoryUpload,
  UploadsService,
} from '../trajectories/uploads.service.js';
import type { PageQueryDto, TrainingJobCreatedDto } from '../preview.dto.js';
import { latestStep, type ModelKey } from '../preview.query.js';
import type { Model } from '../models/model.entity.js';
import { TrainingJobEvent } from './training-job-event.entity.js';
import { JOBS } from './training-job.entity.js';

/** Trajectory groups that the service made, as bodies without `model_id`. */
interface Submission {
  projectId: string;
  modelId: string;
  train: AsyncIterable<Buffer>;
  evaluation: AsyncIterable<Buffer>;
  /** The `experimental_config` as JSON text. */
  config: string | null;
  /** Id of the job whose training this one repeats. */
  retrains: string | null;
}

/** Creates and lists training jobs for clients. `QueueService` changes their states. */
@Injectable()
export class TrainingJobsService {
  @Inject(WholeTrajectories) private readonly wholes!: WholeTrajectories;

  constructor(
    private readonly database: Database,
    private readonly uploads: UploadsService,
    private readonly models: ModelsService,
    private readonly queue: QueueService,
  ) {}

  /**
   * Queues a job. When a client sends the same body again before the job has ended, returns the same job. An
   * idempotency key decides instead when the request has one.
   */
  create(context: Context): Promise<TrainingJobCreatedDto> {
    const { caller } = context;
    let model: Model | null = null;
    /** The last `model_id` of the body counts. An unknown one ends the upload at once. */
    const modelProject = async ({ members }: TrajectoryUpload['reader']) => {
      const id = members.get('model_id')?.value;
      if (id !== undefined && id !== model?.id) model = await this.models.find(id, caller);
      return model?.projectId ?? null;
    };
    return this.uploads.receive(context, modelProject, async (upload) => {
      const config = checkedConfig(upload.reader.members.get('experimental_config'));
      if (!model) throw invalidRequest([{ path: 'model_id', message: 'is required' }]);
      if (!upload.reader.hasGroups) throw groupsMissing();
      await this.models.lock(model.projectId, model.id);
      const isKeyed = idempotencyKey(context) !== undefined;
      return (
        (!isKeyed && (await this.sameAs(model, upload))) ||
        (await this.add(model, upload, rlJob(config, caller, null)))
      );
    });
  }

  /**
   * Queues a job with groups that the service made, and logs other groups beside it: both or neither. Returns an open
   * job with the same groups instead, if any. `note` runs in the same transaction.
   */
  async submit(
    { projectId, modelId, train, evaluation, config, retrains }: Submission,
    caller: Caller,
    note: (job: { id: string; logBatchId: string | null }) => Promise<void>,
  ): Promise<TrainingJobCreatedDto> {
    const model = await this.models.findIn(projectId, modelId, caller);
    const staged: TrajectoryUpload[] = [];
    try {
      const job = await this.uploads.stage(projectId, train);
      if (!job) throw new ApiError('invalid_request', 'there are no groups to train on');
      staged.push(job);
      const log = await this.uploads.stage(projectId, evaluation);
      if (log) staged.push(log);
      return await this.database.transaction({ long: 'bulk' }, async () => {
        await caller.assertValid();
        await this.models.lock(projectId, modelId);
        const same =
          (retrains && (await this.findRetrain(model, retrains))) ||
          (await this.sameAs(model, job));
        if (same) return same;
        const added = await this.add(model, job, rlJob(config, caller, retrains));
        if (log) await this.models.keepLog(log, { projectId, modelId, split: 'eval' });
        await note({ id: added.id, logBatchId: log?.staged.id ?? null });
        return added;
      });
    } finally {
      for (const upload of staged) if (!upload.isKept) await upload.staged.discard();
    }
  }

  /**
   * Deletes the groups of jobs and logs, and cancels the jobs that have not ended. Runs in the transaction of the
   * caller.
   */
  async forget(projectId: string, jobs: string[], logs: string[]): Promise<void> {
    const batches: string[] = [];
    for (const id of jobs) batches.push(...(await this.queue.forget(projectId, id)));
    await this.uploads.forget(projectId, [...batches, ...logs]);
  }

  /** Finds the job that repeats the training of another one, unless it failed or was trained on purged calls itself. */
  async findRetrain(model: ModelKey, jobId: string): Promise<TrainingJobCreatedDto | undefined> {
    const [job] = await this.database.query(findRetrain(model, jobId));
    return job;
  }

  private async sameAs(
    model: ModelKey,
    upload: TrajectoryUpload,
  ): Promise<TrainingJobCreatedDto | undefined> {
    const [job] = await this.database.query(findOpenJob(model, upload.bodySha256));
    return job;
  }

  /** Finds the job with the same rows, data URL and config that has not ended. */
  async sameJob(
    model: ModelKey,
    upload: TrajectoryUpload<BodyReader>,
    job: NewSftJob,
  ): Promise<TrainingJobCreatedDto | undefined> {
    const [same] = await this.database.query(findSameSftJob(model, upload.bodySha256, job));
    return same;
  }

  /** Queues a job with a staged upload. Runs in the transaction of the caller, who has locked the model. */
  async add(
    model: ModelKey,
    upload: TrajectoryUpload<BodyReader>,
    job: Omit<NewJob, 'id' | 'batchId'>,
  ): Promise<TrainingJobCreatedDto> {
    const { projectId, id: modelId } = model;
    const id = uuidv7();
    const [latest] = await this.database.query(latestStep(projectId, modelId));
    const { step } = latest!;
    await this.uploads.keep(upload, { projectId, modelId, split: null, jobId: id, step });
    await this.database.query(jobInsert(model, { ...job, id, batchId: upload.staged.id }));
    await this.database.query(notifyQueue());
    this.database.changes.note(projectId, JOBS);
    return { id };
  }

  async read(id: string, caller: Caller): Promise<string> {
    const [job] = await this.database.query(jobJson(checkedId(id, 'training job'), caller));
    if (!job) throw noSuch('training job');
    return job.json;
  }

  async list(query: TrainingJobsQueryDto, caller: Caller): Promise<string> {
    return pageJson(await this.database.query(jobsPage(query, caller)), query.limit);
  }

  async cancel(id: string, caller: Caller): Promise<string> {
    await this.queue.cancel(id, caller);
    return this.read(id, caller);
  }

  async events(id: string, { after, limit }: PageQueryDto, caller: Caller): Promise<string> {
    const job = await this.queue.find(id, caller);
    let seq = 0;
    if (after) {
      const where = { projectId: job.project_id, jobId: job.id, id: after };
      const events = this.database.repository(TrainingJobEvent);
      const event = await events.findOne({ select: { seq: true }, where });
      if (!event) throw invalidRequest([{ path: 'after', message: 'is not an event of the job' }]);
      seq = event.seq;
    }
    return pageJson(await this.database.query(eventsPage(job, seq, limit)), limit);
  }

  async trajectories(query: TrajectoriesQueryDto, caller: Caller): Promise<Readable> {
    const model = await this.models.find(query.model_id, caller);
    return this.wholes.stream(model.projectId, trajectoriesQuery(model, query), caller);
  }
}

const rlJob = (config: string | null, caller: Caller, retrains: string | null) => ({
  kind: 'rl' as const,
  userId: caller.userName,
  config: null,
  trainingDataUrl: null,
  experimentalConfig: config,
  retrainsJobId: retrains,
});

/** Returns the config as it was sent; null when the body has none. */
function checkedConfig(member: { value: unknown; text: string } | undefined): string | null {
  if (!member) return null;
  const violation = findViolation('ExperimentalConfigDto', member.value, 'experimental_config');
  if (violation) throw invalidRequest([violation]);
  return member.value === null ? null : member.text;
}
