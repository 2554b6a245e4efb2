import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { idempotencyKey } from '../auth/idempotency.js';
import { invalidRequest } from '../common/errors.js';
import { Database } from '../database/database.js';
import { notifyQueue } from './job-notices.js';
import type { PageQueryDto } from './models.dto.js';
import { latestStep, type ModelRow } from './models.query.js';
import { groupsMissing, ModelsService } from './models.service.js';
import { idOf, type Item, noSuch, page } from './pages.js';
import { QueueService } from './queue.service.js';
import type {
  TrainingJobCreatedDto,
  TrainingJobsQueryDto,
  TrajectoriesQueryDto,
} from './training-jobs.dto.js';
import {
  eventPlace,
  eventsPage,
  jobInsert,
  jobJson,
  jobsPage,
  openJobOf,
  trajectoriesQuery,
} from './training-jobs.query.js';
import type { TrajectoryReader } from './trajectory-reader.js';
import { configViolation } from './trajectory-rules.js';
import { type Upload, UploadsService } from './uploads.service.js';

/** Training jobs as their clients see them; how they get on is the queue's. */
@Injectable()
export class TrainingJobsService {
  constructor(
    private readonly database: Database,
    private readonly uploads: UploadsService,
    private readonly models: ModelsService,
    private readonly queue: QueueService,
  ) {}

  /**
   * Queues a job. A body that comes again while its job has not ended answers the same job: clients resend. With an
   * idempotency key, that decides instead.
   */
  create(request: Request, caller: Caller): Promise<TrainingJobCreatedDto> {
    let model: ModelRow | null = null;
    /** The last `model_id` counts; one that is not found ends the upload at once. */
    const projectOf = async ({ members }: TrajectoryReader) => {
      const id = members.get('model_id')?.value;
      if (id !== undefined && id !== model?.id) model = await this.models.find(id, caller);
      return model?.project_id ?? null;
    };
    return this.uploads.receive(request, caller, projectOf, async (upload) => {
      const config = checkedConfig(upload.reader.members.get('experimental_config'));
      if (!model) throw invalidRequest([{ path: 'model_id', message: 'is required' }]);
      if (!upload.reader.hasGroups) throw groupsMissing();
      await this.models.lock(model.project_id, model.id);
      const isKeyed = idempotencyKey(request) !== undefined;
      return (
        (!isKeyed && (await this.sameAs(model, upload))) ||
        (await this.add(model, upload, { config, userId: caller.userName }))
      );
    });
  }

  private async sameAs(
    model: ModelRow,
    upload: Upload,
  ): Promise<TrainingJobCreatedDto | undefined> {
    const [job] = await this.database.query<TrainingJobCreatedDto>(
      openJobOf(model, upload.bodySha256),
    );
    return job;
  }

  private async add(
    model: ModelRow,
    upload: Upload,
    { config, userId }: { config: string | null; userId: string },
  ): Promise<TrainingJobCreatedDto> {
    const { project_id: projectId, id: modelId } = model;
    const id = uuidv7();
    const [latest] = await this.database.query<{ step: number }>(latestStep(projectId, modelId));
    const { step } = latest!;
    await this.uploads.keep(upload, { projectId, modelId, split: null, jobId: id, step });
    await this.database.query(
      jobInsert(model, { id, batchId: upload.staged.id, userId, experimentalConfig: config }),
    );
    await this.database.query(notifyQueue());
    return { id };
  }

  async read(id: string, caller: Caller): Promise<string> {
    const [job] = await this.database.query<Item>(jobJson(idOf(id, 'training job'), caller));
    if (!job) throw noSuch('training job');
    return job.json;
  }

  async list(query: TrainingJobsQueryDto, caller: Caller): Promise<string> {
    return page(await this.database.query<Item>(jobsPage(query, caller)), query.limit);
  }

  async cancel(id: string, caller: Caller): Promise<string> {
    await this.queue.cancel(id, caller);
    return this.read(id, caller);
  }

  async events(id: string, { after, limit }: PageQueryDto, caller: Caller): Promise<string> {
    const job = await this.queue.find(id, caller);
    let seq = 0;
    if (after) {
      const [event] = await this.database.query<{ seq: number }>(eventPlace(job, after));
      if (!event) throw invalidRequest([{ path: 'after', message: 'is no event of the job' }]);
      seq = event.seq;
    }
    return page(await this.database.query<Item>(eventsPage(job, seq, limit)), limit);
  }

  async trajectories(query: TrajectoriesQueryDto, caller: Caller): Promise<Readable> {
    const model = await this.models.find(query.model_id, caller);
    return this.database.stream(trajectoriesQuery(model, query));
  }
}

/** The text as it was sent; null when there is none. */
function checkedConfig(member: { value: unknown; text: string } | undefined): string | null {
  if (!member) return null;
  const violation = configViolation(member.value);
  if (violation) throw invalidRequest([violation]);
  return member.value === null ? null : member.text;
}
