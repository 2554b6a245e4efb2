import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import type { Context } from '../../platform/http/context.js';
import {
  ApiError,
  assertNone,
  finalConflict,
  isConflict,
  type Violation,
} from '../../platform/errors.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { oneLock, tryLock } from '../../platform/database/advisory-locks.js';
import { Database } from '../../platform/database/database.js';
import { Notices } from '../../platform/database/notices.js';
import { Schedule } from '../../platform/database/schedule.js';
import { valueAt } from '../../platform/json/json-text.js';
import { storable } from '../../platform/query/columns.js';
import { type Sql } from '../../platform/query/sql.js';
import { derivedDataLock } from '../derived-data-lock.query.js';
import { assertFewMetrics } from '../metrics-limit.js';
import { checkedId, noSuch } from '../pages.js';
import {
  cancel,
  cancelModelJobs,
  checkpointAdd,
  type Claim,
  claim,
  type ClaimedRow,
  eventsHide,
  eventsInsert,
  eventsKnown,
  fail,
  type FoundJob,
  type LeaseHolder,
  jobById,
  leasedJob,
  jobOfProject,
  JOBS_CHANNEL,
  type JobRow,
  type Lease,
  type NewJobEvent,
  nextJobs,
  notifyQueue,
  overdueKinds,
  overdueEnd,
  overdueJobs,
  parentQuery,
  renewLease,
  start,
  succeed,
} from './queue.query.js';
import type {
  CheckpointDto,
  ClaimDto,
  ClaimedDto,
  CompletedDto,
  CompleteDto,
  FailDto,
  HeartbeatAnswerDto,
  EventsAddedDto,
  TrainerEventDto,
} from './trainer.dto.js';
import {
  CheckpointFilesService,
  manifestSha256,
  type VerifiedFiles,
} from '../checkpoints/checkpoint-files.service.js';
import { eventViolations, newEvents, numbersViolations, storableKeys } from './trainer-events.js';
import { modelLock } from '../preview.query.js';
import { JOBS } from './training-job.entity.js';
import { MODELS } from '../models/model.entity.js';

/** Held by the one replica that is the watchdog of training jobs. */
const WATCHDOG = oneLock(495_555_340_655);

/** Tries of a claim that lost every job to other claimers. */
const CLAIM_TRIES = 10;
export const MAX_CONFIG_BYTES = 65_536;
/** Characters of an error message that are stored; the rest is cut off. */
const MAX_MESSAGE = 10_000;

/**
 * The queue of training jobs, for trainers and for the watchdog that ends overdue jobs. The states are stored in the
 * database only; queue.query.ts contains the transitions. A lease token is stored as a hash, like a key.
 */
@Injectable()
export class QueueService implements OnModuleInit {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly database: Database,
    private readonly notices: Notices,
    private readonly files: CheckpointFilesService,
    private readonly schedule: Schedule,
  ) {}

  onModuleInit(): void {
    const everyMs = this.config.trainerHeartbeatSeconds * 1000;
    this.schedule.every(everyMs, 'training jobs', () => this.sweep());
  }

  /** Leases the oldest job, and waits up to `wait_s` for one. Returns null when no job came, or the client has left. */
  async claim(body: ClaimDto, { caller, signal }: Context): Promise<string | null> {
    const claimed = await this.tryToClaim(body, caller);
    if (claimed || !body.wait_s) return claimed;
    let isOver = signal.aborted;
    let isWoken = false;
    let wake = () => {};
    const onWake = (over: boolean) => {
      isWoken = true;
      isOver ||= over;
      wake();
    };
    const end = () => onWake(true);
    const timer = setTimeout(end, body.wait_s * 1000);
    signal.addEventListener('abort', end);
    const stop = await this.notices.listen(JOBS_CHANNEL, () => onWake(false));
    try {
      for (;;) {
        if (isOver || this.notices.isStopping) return null;
        isWoken = false;
        const found = await this.tryToClaim(body, caller);
        if (found) return found;
        if (!isWoken) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stop();
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  }

  private async tryToClaim(
    { worker_id: workerId, base_models, kinds }: ClaimDto,
    caller: Caller,
  ): Promise<string | null> {
    const token = randomBytes(32).toString('base64url');
    for (let tries = 1; tries <= CLAIM_TRIES; tries++) {
      await caller.assertValid();
      const next = await this.database.query(nextJobs(caller, base_models ?? [], kinds ?? ['rl']));
      if (next.length === 0) return null;
      for (const job of next) {
        const claimed = await this.claimOne(job, { workerId, tokenHash: hashToken(token) });
        if (claimed) return this.claimedJson(claimed, token);
      }
    }
    return null;
  }

  /** Returns undefined when another claimer was faster with this job, or with a job of the same model. */
  private async claimOne(job: FoundJob, by: Claim): Promise<ClaimedRow | undefined> {
    try {
      const [row] = await this.database.query(claim(job, by, this.config));
      if (row) this.database.changes.note(row.project_id, JOBS);
      return row;
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  private async claimedJson(row: ClaimedRow, token: string): Promise<string> {
    const [parent] = await this.database.query(parentQuery(row));
    const { name, config, experimental_config, state, bytes, sha256, ...rest } = row;
    const answer: Omit<ClaimedDto, 'config' | 'experimental_config' | 'parent' | 'state'> = {
      ...rest,
      model: name,
      lease_token: token,
      heartbeat_seconds: this.config.trainerHeartbeatSeconds,
      payload: {
        url: `/v1/preview/trainer/jobs/${row.job_id}/payload`,
        bytes,
        sha256,
        encoding: 'gzip',
      },
    };
    return `${JSON.stringify(answer).slice(0, -1)},"parent":${parent?.json ?? 'null'},"state":${state},"config":${config},"experimental_config":${experimental_config}}`;
  }

  async heartbeat(holder: LeaseHolder, caller: Caller): Promise<HeartbeatAnswerDto> {
    const lease = await this.findLease(holder, caller);
    const job = await this.renew(lease);
    return {
      lease_expires_at: job.lease_expires_at!,
      cancel_requested: job.is_cancel_requested,
    };
  }

  /**
   * Adds events of an attempt. Events that were sent before change nothing. Training starts once in the life of a
   * job.
   */
  async addEvents(
    holder: LeaseHolder,
    given: TrainerEventDto[],
    caller: Caller,
  ): Promise<EventsAddedDto> {
    const events = given.toSorted((a, b) => a.seq - b.seq);
    assertNone(given.flatMap((event, i) => eventViolations(event, `events[${i}].data`)));
    const lease = await this.findLease(holder, caller);
    return this.database.transaction(async () => {
      const job = await this.renew(lease);
      const answer = { cancel_requested: job.is_cancel_requested };
      if (job.status === 'leased' && events.length > 0) {
        if (events[0]!.type !== 'training_started')
          throw finalConflict('the first event of an attempt must be training_started');
        await this.database.query(start(lease));
      }
      const known = await this.database.query(
        eventsKnown(
          job,
          events.map(({ seq }) => seq),
        ),
      );
      const fresh = newEvents(events, known);
      if (fresh.length === 0) return answer;
      await this.database.query(eventsInsert(job, fresh));
      this.database.changes.note(job.project_id, JOBS);
      return answer;
    });
  }

  /**
   * Commits the new checkpoint with its files, `training_ended` and the state of the job together. Verifies the
   * digests of the files first, which takes as long as reading them.
   */
  async complete(holder: LeaseHolder, body: CompleteDto, context: Context): Promise<CompletedDto> {
    const { caller } = context;
    assertNone([...numbersViolations(body.metrics, 'metrics'), ...outcomeViolations(body)]);
    const metrics = JSON.stringify(storableKeys(body.metrics));
    assertFewMetrics(Object.keys(body.metrics).length, Buffer.byteLength(metrics));
    const config = body.checkpoint?.config ? configText(context.text) : null;
    const lease = await this.findLease(holder, caller);
    const { project_id, model_id, id: jobId, status } = lease.job;
    const owner = { projectId: project_id, jobId };
    const files = body.checkpoint?.files;
    const verified =
      files && status === 'running'
        ? await this.files.verified(owner, { files, path: 'checkpoint.files' }, caller)
        : undefined;
    return this.database.transaction(async () => {
      await this.database.query(modelLock(project_id, model_id));
      // a concurrent purge has either ended, or will find the checkpoint
      await this.database.query(derivedDataLock(project_id));
      const reason = body.made_step === false ? storable(body.reason!) : null;
      const [job] = await this.database.query(succeed(lease, reason));
      if (!job) return this.outcomeOfEnded(lease);
      if (verified) await this.files.assertUnchanged(owner, verified);
      await this.files.dropAllBut(project_id, [jobId], files ?? []);
      if (reason === null) {
        const made = newCheckpoint(body.checkpoint!, verified);
        await this.database.query(checkpointAdd(job, { ...made, config, metrics }));
        this.database.changes.note(project_id, MODELS);
        await this.end(job, 'training_ended', {});
      } else
        await this.end(job, 'training_ended', { made_step: false, reason, metrics: body.metrics });
      this.database.changes.note(project_id, JOBS);
      return jobOutcome(job);
    });
  }

  /** Returns the first answer for a report that a trainer sends again because the answer was lost. */
  private async outcomeOfEnded(lease: Lease): Promise<CompletedDto> {
    const [job] = await this.database.query(leasedJob(lease));
    if (job?.status === 'succeeded') return jobOutcome(job);
    if (job?.status === 'leased')
      throw finalConflict('the job has not started: the event training_started comes first');
    throw leaseLost();
  }

  /** Ends the attempt. The job is tried again if the failure is retryable and attempts are left. */
  async fail(
    holder: LeaseHolder,
    { error_message, retryable }: FailDto,
    caller: Caller,
  ): Promise<{ status: string }> {
    const lease = await this.findLease(holder, caller);
    const message = storable(error_message.slice(0, MAX_MESSAGE));
    return this.database.transaction(async () => {
      const [job] = await this.settle(
        fail(lease, { isRetryable: retryable, message }, this.config),
      );
      if (job) return { status: job.status };
      const [ended] = await this.database.query(leasedJob(lease));
      if (ended?.status === 'failed' || ended?.status === 'cancelled')
        return { status: ended.status };
      throw leaseLost();
    });
  }

  /** Cancels a queued job. Requests the trainer of a running job to stop. */
  async cancel(id: string, caller: Caller): Promise<void> {
    await this.database.transaction(async () => {
      const before = await this.find(id, caller);
      const [job] = await this.settle(cancel(before));
      if (!job && before.status !== 'cancelled')
        throw finalConflict(`the job has ended already: ${before.status}`);
    });
  }

  /** Cancels a job whose groups are to be erased, and returns its batch. Runs in the transaction of the caller. */
  async forget(projectId: string, id: string): Promise<string[]> {
    const [job] = await this.database.query(jobOfProject(projectId, id));
    if (!job) return [];
    await this.settle(cancel(job));
    return [job.batch_id];
  }

  /** Cancels every job of a model that is deleted. Runs in the transaction of the caller. */
  async cancelModelJobs(projectId: string, modelId: string): Promise<void> {
    await this.settle(cancelModelJobs(projectId, modelId));
  }

  /**
   * Ends jobs that lost their trainer or queues them again, and ends jobs that have waited or run for too long. Only
   * the replica that gets the lock does this.
   */
  async sweep(): Promise<void> {
    await this.database.transaction(async () => {
      const [row] = await this.database.query(tryLock(WATCHDOG));
      if (!row!.is_mine) return;
      for (const kind of overdueKinds(this.config))
        for (const job of await this.database.query(overdueJobs(kind)))
          await this.settle(overdueEnd(kind, job));
    });
  }

  /** Runs a transition that ends an attempt, and stores the events that report it to clients. */
  private async settle(transition: Sql<JobRow>): Promise<JobRow[]> {
    const jobs = await this.database.query(transition);
    for (const job of jobs) {
      this.database.changes.note(job.project_id, JOBS);
      if (job.status === 'queued') {
        await this.database.query(eventsHide(job));
        await this.database.query(notifyQueue());
      } else if (job.status === 'failed' || job.status === 'cancelled') {
        await this.files.dropAllBut(job.project_id, [job.id]);
        await this.end(job, 'training_failed', { error_message: job.error_message });
      }
    }
    return jobs;
  }

  /** Adds the last event of a job, and wakes claims: the model is free for its next job. */
  private async end(job: JobRow, type: NewJobEvent['type'], data: object): Promise<void> {
    const event = { id: uuidv7(), type, data: JSON.stringify(data), trainerSeq: null };
    await this.database.query(eventsInsert(job, [event]));
    await this.database.query(notifyQueue());
  }

  /** Extends the lease. The row of the job stays locked until the end of the transaction. */
  renew(lease: Lease): Promise<JobRow> {
    return this.whileHeld(renewLease(lease, this.config));
  }

  /** Runs a statement that returns no row when the lease is lost. */
  async whileHeld<Row>(statement: Sql<Row>): Promise<Row> {
    const [row] = await this.database.query(statement);
    if (row === undefined) throw leaseLost();
    return row;
  }

  /** Returns a lease that may be lost. The statements that use it check that it is held. */
  async findLease({ jobId, tokenHash }: LeaseHolder, caller: Caller): Promise<Lease> {
    return { job: await this.find(jobId, caller), tokenHash };
  }

  /** @throws ApiError `not_found` for an unknown job, and for a job outside the scopes of the key */
  async find(id: string, caller: Caller): Promise<FoundJob> {
    const [job] = await this.database.query(jobById(checkedId(id, 'training job'), caller));
    if (!job) throw noSuch('training job');
    caller.assertReaches(job.project_id);
    return job;
  }
}

const hashToken = (token: string) => createHash('sha256').update(token).digest();

export function readLeaseHolder(jobId: string, token: string | undefined): LeaseHolder {
  if (!token) throw new ApiError('invalid_request', 'the header x-lease-token is missing');
  return { jobId, tokenHash: hashToken(token) };
}

const leaseLost = () => finalConflict('the lease of the job is lost: stop working on it');

/** Checks that the report contains a checkpoint, or the reason why no step was made. */
function outcomeViolations({ made_step, reason, checkpoint }: CompleteDto): Violation[] {
  const refuse = (path: string, message: string) => [{ path, message }];
  if (made_step === false) {
    if (checkpoint) return refuse('checkpoint', 'must be absent where made_step is false');
    return reason ? [] : refuse('reason', 'is required where made_step is false');
  }
  if (reason) return refuse('reason', 'must be absent where a step was made');
  if (!checkpoint) return refuse('checkpoint', 'is required');
  const { uri, files, sha256, size_bytes } = checkpoint;
  if (!files) return uri ? [] : refuse('checkpoint.uri', 'is required where there are no files');
  if (files.length === 0) return refuse('checkpoint.files', 'must name a file');
  return [
    ...(sha256 ? refuse('checkpoint.sha256', 'must be absent: it is computed of the files') : []),
    ...(size_bytes === undefined || size_bytes === null
      ? []
      : refuse('checkpoint.size_bytes', 'must be absent: it is computed of the files')),
  ];
}

function configText(body: string): string {
  const text = valueAt(body, 'checkpoint', 'config');
  if (Buffer.byteLength(text) <= MAX_CONFIG_BYTES) return text;
  throw new ApiError(
    'too_large',
    `checkpoint.config is over the limit of ${MAX_CONFIG_BYTES} bytes`,
  );
}

function newCheckpoint(
  { uri, sha256, size_bytes }: CheckpointDto,
  verified: VerifiedFiles | undefined,
) {
  const given = { id: uuidv7(), uri: uri ?? null };
  if (!verified)
    return { ...given, sha256: sha256 ?? null, sizeBytes: size_bytes ?? null, files: null };
  const { files } = verified;
  return {
    ...given,
    sha256: manifestSha256(files),
    sizeBytes: files.reduce((sum, file) => sum + file.size_bytes, 0),
    files: JSON.stringify(files),
  };
}

const jobOutcome = ({ step, parent_step }: JobRow): CompletedDto => ({
  step: step ?? parent_step!,
  made_step: step !== null,
});
