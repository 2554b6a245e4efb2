import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import type { Context } from '../../platform/http/context.js';
import { ApiError, assertNone, invalidRequest, type Violation } from '../../platform/errors.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { oneLock, tryLock } from '../../platform/database/advisory-locks.js';
import { Database } from '../../platform/database/database.js';
import { Notices } from '../../platform/database/notices.js';
import { Schedule } from '../../platform/database/schedule.js';
import { storable } from '../../platform/query/columns.js';
import { type Sql } from '../../platform/query/sql.js';
import { assertFewMetrics } from '../metrics-limit.js';
import { idOf, noSuch } from '../pages.js';
import {
  cancel,
  cancelAllOf,
  checkpointAdd,
  type Claim,
  claim,
  type ClaimedRow,
  eventsHide,
  eventsInsert,
  eventsKnown,
  fail,
  type FoundJob,
  heldPayload,
  type Holder,
  jobById,
  jobOf,
  jobOfProject,
  JOBS_CHANNEL,
  type JobRow,
  type Lease,
  type NewEvent,
  nextJobs,
  notifyQueue,
  overdueKinds,
  overdueEnd,
  overdueJobs,
  renewLease,
  start,
  succeed,
} from './queue.query.js';
import type {
  ClaimDto,
  ClaimedDto,
  CompletedDto,
  CompleteDto,
  FailDto,
  HeartbeatAnswerDto,
  TrainerEventDto,
} from './trainer.dto.js';
import { UploadsService } from '../trajectories/uploads.service.js';
import { modelLock } from '../preview.query.js';
import { JOBS } from './training-job.entity.js';
import { MODELS } from '../models/model.entity.js';

/** One replica is the watchdog of training jobs. */
const WATCHDOG = oneLock(495_555_340_655);

/** A claim that met others at every job it saw looks again. */
const CLAIM_TRIES = 10;
/** Of an error message: what is beyond is cut off. */
const MAX_MESSAGE = 10_000;

/**
 * The queue of training jobs, as trainers see it, and as the watchdog keeps it moving. Its states are in the database
 * only: queue.query.ts has the transitions. A lease token is stored as its hash, like a key.
 */
@Injectable()
export class QueueService implements OnModuleInit {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly database: Database,
    private readonly notices: Notices,
    private readonly uploads: UploadsService,
    private readonly schedule: Schedule,
  ) {}

  onModuleInit(): void {
    const everyMs = this.config.trainerHeartbeatSeconds * 1000;
    this.schedule.every(everyMs, 'training jobs', () => this.sweep());
  }

  /** Leases the oldest job there is, waiting for one if asked to; null when there is none, or the client has gone. */
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
    { worker_id: workerId, base_models }: ClaimDto,
    caller: Caller,
  ): Promise<string | null> {
    const token = randomBytes(32).toString('base64url');
    for (let tries = 1; tries <= CLAIM_TRIES; tries++) {
      await caller.assertValid();
      const next = await this.database.query(nextJobs(caller, base_models ?? []));
      if (next.length === 0) return null;
      for (const job of next) {
        const claimed = await this.claimOne(job, { workerId, tokenHash: hashOf(token) });
        if (claimed) return claimedJson(claimed, token, this.config.trainerHeartbeatSeconds);
      }
    }
    return null;
  }

  /** Undefined when another claimer was quicker at the job, or at one of the same model. */
  private async claimOne(job: FoundJob, by: Claim): Promise<ClaimedRow | undefined> {
    try {
      const [row] = await this.database.query(claim(job, by, this.config));
      if (row) this.database.note(row.project_id, JOBS);
      return row;
    } catch (error) {
      if ((error as { code?: string }).code === '23505') return undefined;
      throw error;
    }
  }

  async heartbeat(holder: Holder, caller: Caller): Promise<HeartbeatAnswerDto> {
    const lease = await this.leaseOf(holder, caller);
    const [job] = await this.database.query(renewLease(lease, this.config));
    if (!job) throw leaseLost();
    return {
      lease_expires_at: job.lease_expires_at!,
      cancel_requested: job.is_cancel_requested,
    };
  }

  /** The groups as gzip JSONL, read piece by piece: a slow trainer holds no connection. */
  async payload(holder: Holder, caller: Caller): Promise<{ stream: Readable; bytes: number }> {
    const lease = await this.leaseOf(holder, caller);
    const [job] = await this.database.query(heldPayload(lease));
    if (!job) throw leaseLost();
    const chunks = this.uploads.payloadOf(job.project_id, job.batch_id, caller);
    return { stream: Readable.from(chunks, { objectMode: false }), bytes: job.bytes };
  }

  /** Adds events of an attempt. Those that came before change nothing, and training starts once in the life of a job. */
  async addEvents(holder: Holder, given: TrainerEventDto[], caller: Caller): Promise<void> {
    const events = given.toSorted((a, b) => a.seq - b.seq);
    const violations = given.flatMap(({ type, data }, i) =>
      dataViolation(type, data, `events[${i}].data`),
    );
    assertNone(violations);
    const lease = await this.leaseOf(holder, caller);
    await this.database.transaction(async () => {
      const [job] = await this.database.query(renewLease(lease, this.config));
      if (!job) throw leaseLost();
      if (job.status === 'leased' && events.length > 0) {
        if (events[0]!.type !== 'training_started')
          throw refused('the first event of an attempt must be training_started');
        await this.database.query(start(lease));
      }
      const known = await this.database.query(
        eventsKnown(
          job,
          events.map(({ seq }) => seq),
        ),
      );
      const fresh = newEvents(events, known);
      if (fresh.length === 0) return;
      await this.database.query(eventsInsert(job, fresh));
      this.database.note(job.project_id, JOBS);
    });
  }

  /** The new checkpoint, `training_ended` and the state of the job are committed together. */
  async complete(holder: Holder, body: CompleteDto, caller: Caller): Promise<CompletedDto> {
    const violation = numbersViolation(body.metrics, 'metrics');
    if (violation) throw invalidRequest([violation]);
    const metrics = JSON.stringify(storableKeys(body.metrics));
    assertFewMetrics(Object.keys(body.metrics).length, Buffer.byteLength(metrics));
    const lease = await this.leaseOf(holder, caller);
    const { project_id, model_id } = lease.job;
    return this.database.transaction(async () => {
      await this.database.query(modelLock(project_id, model_id));
      const [job] = await this.database.query(succeed(lease));
      if (!job) return { step: await this.stepOfEnded(lease) };
      const { uri, sha256 = null, size_bytes: sizeBytes = null } = body.checkpoint;
      await this.database.query(
        checkpointAdd(job, { id: uuidv7(), uri, sha256, sizeBytes, metrics }),
      );
      await this.end(job, 'training_ended', {});
      this.database.note(project_id, JOBS);
      this.database.note(project_id, MODELS);
      return { step: job.step! };
    });
  }

  /** A report that is resent, because its answer was lost, is answered as the first time. */
  private async stepOfEnded(lease: Lease): Promise<number> {
    const [job] = await this.database.query(jobOf(lease));
    if (job?.status === 'succeeded') return job.step!;
    if (job?.status === 'leased')
      throw refused('the job has not started: the event training_started comes first');
    throw leaseLost();
  }

  /** The job is tried again if that may help and attempts are left. */
  async fail(
    holder: Holder,
    { error_message, retryable }: FailDto,
    caller: Caller,
  ): Promise<{ status: string }> {
    const lease = await this.leaseOf(holder, caller);
    const message = storable(error_message.slice(0, MAX_MESSAGE));
    return this.database.transaction(async () => {
      const [job] = await this.settle(
        fail(lease, { isRetryable: retryable, message }, this.config),
      );
      if (job) return { status: job.status };
      const [ended] = await this.database.query(jobOf(lease));
      if (ended?.status === 'failed' || ended?.status === 'cancelled')
        return { status: ended.status };
      throw leaseLost();
    });
  }

  /** Ends a job that waits; asks the trainer of one that runs to stop. */
  async cancel(id: string, caller: Caller): Promise<void> {
    await this.database.transaction(async () => {
      const before = await this.find(id, caller);
      const [job] = await this.settle(cancel(before));
      if (!job && before.status !== 'cancelled')
        throw refused(`the job has ended already: ${before.status}`);
    });
  }

  /** Cancels a job whose groups are to be erased; answers its batch. In the transaction of the caller. */
  async forget(projectId: string, id: string): Promise<string[]> {
    const [job] = await this.database.query(jobOfProject(projectId, id));
    if (!job) return [];
    await this.settle(cancel(job));
    return [job.batch_id];
  }

  /** Ends every job of a model that is deleted. In the transaction of the caller. */
  async cancelAllOf(projectId: string, modelId: string): Promise<void> {
    await this.settle(cancelAllOf(projectId, modelId));
  }

  /**
   * Ends or queues again what lost its trainer, and ends what has waited or run for too long. One replica at a time:
   * one that does not get the lock has nothing to do.
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

  /** Runs a transition out of an attempt, and writes down for the clients what came of it. */
  private async settle(transition: Sql<JobRow>): Promise<JobRow[]> {
    const jobs = await this.database.query(transition);
    for (const job of jobs) {
      this.database.note(job.project_id, JOBS);
      if (job.status === 'queued') {
        await this.database.query(eventsHide(job));
        await this.database.query(notifyQueue());
      } else if (job.status === 'failed' || job.status === 'cancelled')
        await this.end(job, 'training_failed', { error_message: job.error_message });
    }
    return jobs;
  }

  /** The last event of a job. Its model is free for the next one. */
  private async end(job: JobRow, type: NewEvent['type'], data: object): Promise<void> {
    const event = { id: uuidv7(), type, data: JSON.stringify(data), trainerSeq: null };
    await this.database.query(eventsInsert(job, [event]));
    await this.database.query(notifyQueue());
  }

  private async leaseOf({ jobId, tokenHash }: Holder, caller: Caller): Promise<Lease> {
    return { job: await this.find(jobId, caller), tokenHash };
  }

  /** @throws ApiError `not_found` for an unknown job and for one that the key does not reach. */
  async find(id: string, caller: Caller): Promise<FoundJob> {
    const [job] = await this.database.query(jobById(idOf(id, 'training job'), caller));
    if (!job) throw noSuch('training job');
    return job;
  }
}

const hashOf = (token: string) => createHash('sha256').update(token).digest();

/** Who speaks for a job. */
export function holderOf(jobId: string, token: string | undefined): Holder {
  if (!token) throw new ApiError('invalid_request', 'the header x-lease-token is missing');
  return { jobId, tokenHash: hashOf(token) };
}

/** Trainers must not try such a request again; generated clients would, at a 409. */
const refused = (message: string) =>
  new ApiError('conflict', message, { headers: { 'x-should-retry': 'false' } });

const leaseLost = () => refused('the lease of the job is lost: stop working on it');

function claimedJson(row: ClaimedRow, token: string, heartbeatSeconds: number): string {
  const { name, config: experimentalConfig, bytes, sha256, ...rest } = row;
  const answer: Omit<ClaimedDto, 'experimental_config'> = {
    ...rest,
    model: name,
    lease_token: token,
    heartbeat_seconds: heartbeatSeconds,
    payload: {
      url: `/v1/preview/trainer/jobs/${row.job_id}/payload`,
      bytes,
      sha256,
      encoding: 'gzip',
    },
  };
  return `${JSON.stringify(answer).slice(0, -1)},"experimental_config":${experimentalConfig ?? 'null'}}`;
}

function dataViolation(type: string, data: Record<string, unknown>, path: string): Violation[] {
  if (type === 'training_started') {
    const isCount =
      Number.isSafeInteger(data['num_sequences']) && Number(data['num_sequences']) >= 0;
    return isCount
      ? []
      : [{ path: `${path}.num_sequences`, message: 'must be a whole number from 0' }];
  }
  const violation = numbersViolation(data, path);
  return violation ? [violation] : [];
}

function numbersViolation(values: Record<string, unknown>, path: string): Violation | undefined {
  const name = Object.keys(values).find((key) => !Number.isFinite(values[key]));
  return name === undefined
    ? undefined
    : { path: `${path}.${name}`, message: 'must be a finite number' };
}

const storableKeys = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [storable(name), value]));

/** Events that are not there yet, in the order of their numbers. */
function newEvents(
  events: TrainerEventDto[],
  known: { seq: number | null; type: string }[],
): NewEvent[] {
  const seqs = new Set(known.map(({ seq }) => seq));
  let hasStarted = known.some(({ type }) => type === 'training_started');
  const fresh: NewEvent[] = [];
  for (const { seq, type, data } of events) {
    const isKnown = seqs.has(seq) || (type === 'training_started' && hasStarted);
    seqs.add(seq);
    if (isKnown) continue;
    hasStarted ||= type === 'training_started';
    fresh.push({ id: uuidv7(), type, data: JSON.stringify(data), trainerSeq: seq });
  }
  return fresh;
}
