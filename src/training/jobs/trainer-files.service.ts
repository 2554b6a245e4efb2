import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import type { Context } from '../../platform/http/context.js';
import { Database } from '../../platform/database/database.js';
import { type RangedStream, readRange } from '../byte-range.js';
import { CheckpointFilesService } from '../checkpoints/checkpoint-files.service.js';
import type { ManifestFileDto } from '../manifest.dto.js';
import { noSuch } from '../pages.js';
import { PayloadsService } from '../trajectories/payloads.service.js';
import { heldPayload, type LeaseHolder, manifestQuery } from './queue.query.js';
import { QueueService } from './queue.service.js';
import type {
  JobFileQueryDto,
  PartQueryDto,
  PartsDto,
  PartStoredDto,
  PayloadQueryDto,
} from './trainer.dto.js';
import { TrainingJob } from './training-job.entity.js';

/** Reads and writes the files and the payload for the holder of a lease. */
@Injectable()
export class TrainerFilesService {
  constructor(
    private readonly database: Database,
    private readonly queue: QueueService,
    private readonly files: CheckpointFilesService,
    private readonly payloads: PayloadsService,
  ) {}

  /** Returns the groups as gzip JSONL, or a byte range of it. The size is unknown when single groups are requested. */
  async payload(
    holder: LeaseHolder,
    { from_group, num_groups }: PayloadQueryDto,
    context: Context,
  ): Promise<RangedStream | Readable> {
    const { caller } = context;
    const lease = await this.queue.findLease(holder, caller);
    const job = await this.queue.whileHeld(heldPayload(lease));
    const batch = { projectId: job.project_id, id: job.batch_id };
    if (from_group !== undefined || num_groups !== undefined) {
      const groups = { from: from_group ?? 0, count: num_groups ?? Infinity };
      return streamed(this.payloads.groupsOf(batch, groups, caller));
    }
    const range = readRange(context, job.bytes);
    const stream = streamed(this.payloads.bytesOf(batch, range, caller));
    return { stream, range, bytes: job.bytes };
  }

  /** Stores the body as a part of a file. A trainer may send a part twice. */
  async addPart(
    holder: LeaseHolder,
    { file, part }: PartQueryDto,
    context: Context,
  ): Promise<PartStoredDto> {
    const lease = await this.queue.findLease(holder, context.caller);
    const assertHeld = async () => void (await this.queue.renew(lease));
    await assertHeld(); // also before the body is read
    const key = { ...partsOwner(lease.job), file };
    return this.files.receive(context, key, { part, assertHeld });
  }

  async parts(holder: LeaseHolder, caller: Caller): Promise<PartsDto> {
    const lease = await this.queue.findLease(holder, caller);
    await this.queue.whileHeld(manifestQuery(lease, 'state'));
    return { data: await this.files.parts(partsOwner(lease.job)) };
  }

  /** Replaces the manifest of files that the next attempt starts with. */
  async setState(holder: LeaseHolder, files: ManifestFileDto[], caller: Caller): Promise<void> {
    const lease = await this.queue.findLease(holder, caller);
    await this.queue.whileHeld(manifestQuery(lease, 'state'));
    const owner = partsOwner(lease.job);
    const verified = await this.files.verified(owner, { files, path: 'files' }, caller);
    await this.database.transaction(async () => {
      await this.queue.renew(lease);
      await this.files.assertUnchanged(owner, verified);
      const jobs = this.database.repository(TrainingJob);
      const where = { projectId: owner.projectId, id: owner.jobId };
      const before = await jobs.findOne({ select: { state: true }, where });
      await jobs.update(where, { state: files });
      const kept = new Set(files.map(({ sha256 }) => sha256));
      const old = (before?.state ?? []).map(({ sha256 }) => sha256);
      await this.files.dropFiles(
        owner,
        old.filter((file) => !kept.has(file)),
      );
    });
  }

  async file(
    holder: LeaseHolder,
    { of, name }: JobFileQueryDto,
    context: Context,
  ): Promise<RangedStream> {
    const { caller } = context;
    const lease = await this.queue.findLease(holder, caller);
    const held = await this.queue.whileHeld(manifestQuery(lease, of));
    const file = held.files?.find((one) => one.name === name);
    if (!file || !held.job_id) throw noSuch('file');
    const owner = { projectId: lease.job.project_id, jobId: held.job_id };
    return this.files.read(owner, file, context);
  }
}

const partsOwner = ({ project_id, id }: { project_id: string; id: string }) => ({
  projectId: project_id,
  jobId: id,
});

const streamed = (pieces: AsyncIterable<Buffer>) => Readable.from(pieces, { objectMode: false });
