import type { Caller } from '../../platform/auth/caller.js';
import type { Config } from '../../platform/config/config.js';
import { wireTime } from '../../platform/query/columns.js';
import { allOf, join, sql, type Sql } from '../../platform/query/sql.js';
import type { ManifestFileDto } from '../manifest.dto.js';
import type { EventType } from './training-job-event.entity.js';
import type { JobKind, JobStatus } from './training-job.entity.js';
import { isReached } from '../preview.query.js';

/*
 * The transitions of a training job. Each is one guarded UPDATE, which returns no row when the guard is false.
 *
 *   queued → leased (claim) → running (training_started) → succeeded (complete)
 *   leased, running → queued (failed or lost, attempts left) | failed | cancelled (a cancel was requested)
 *   queued → cancelled (cancel) | failed (waited too long)
 */

export const JOBS_CHANNEL = 'skein_training_jobs';

/** Wakes waiting claims when the transaction commits. */
export const notifyQueue = () => sql`SELECT pg_notify(${JOBS_CHANNEL}, '')`;

export interface JobRow {
  project_id: string;
  id: string;
  model_id: string;
  batch_id: string;
  status: JobStatus;
  attempt: number;
  parent_step: number | null;
  step: number | null;
  error_message: string | null;
  lease_expires_at: string | null;
  tainted_at: string | null;
  is_cancel_requested: boolean;
}

/** A job, and the time at which it was read. */
export interface FoundJob extends JobRow {
  at: string;
}

const JOB_COLUMNS = sql`j.project_id, j.id, j.model_id, j.batch_id, j.status, j.attempt, j.parent_step, j.step, j.error_message,
  skein_wire_time(j.lease_expires_at) AS lease_expires_at, skein_wire_time(j.tainted_at) AS tainted_at,
  j.cancel_requested_at IS NOT NULL AS is_cancel_requested`;
const NOW_COLUMN = sql`${wireTime(sql`now()`)} AS at`;

const seconds = (count: number) => sql`make_interval(secs => ${count})`;
const isHeld = (job: Sql) => sql`${job}.status IN ('leased', 'running')`;
const IS_HELD = isHeld(sql`j`);
export const IS_OPEN = sql`j.status IN ('queued', 'leased', 'running')`;

/** A lease as a request names it: the job id, and the hash of the token that the claim returned. */
export interface LeaseHolder {
  jobId: string;
  tokenHash: Buffer;
}

export interface Lease {
  job: FoundJob;
  tokenHash: Buffer;
}

const isJob = ({ project_id, id }: Pick<JobRow, 'project_id' | 'id'>) =>
  sql`j.project_id = ${project_id} AND j.id = ${id}`;

/** True for the job that the token was issued for. */
const hasLeaseToken = ({ job, tokenHash }: Lease) =>
  sql`${isJob(job)} AND j.lease_token_hash = ${tokenHash}`;

/** True while the lease is held. An expired lease is lost even before the watchdog ends it. */
const isHeldBy = (lease: Lease) =>
  sql`${hasLeaseToken(lease)} AND ${IS_HELD} AND j.lease_expires_at > now()`;

export const jobOfProject = (projectId: string, id: string) =>
  sql<FoundJob>`SELECT ${JOB_COLUMNS}, ${NOW_COLUMN} FROM training_jobs j WHERE ${isJob({ project_id: projectId, id })}`;

export const jobById = (id: string, caller: Caller) =>
  sql<FoundJob>`SELECT ${JOB_COLUMNS}, ${NOW_COLUMN} FROM training_jobs j WHERE j.id = ${id} AND ${isReached(sql`j.project_id`, caller)}`;

/** Reads the job that the token was issued for, in any state. */
export const leasedJob = (lease: Lease) =>
  sql<JobRow>`SELECT ${JOB_COLUMNS} FROM training_jobs j WHERE ${hasLeaseToken(lease)}`;

export const heldPayload = (lease: Lease) => sql<JobRow & { bytes: number }>`
  SELECT ${JOB_COLUMNS}, b.payload_bytes::float8 AS bytes FROM training_jobs j
  JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
  WHERE ${isHeldBy(lease)}`;

/** Jobs that a claim tries at once. */
const CANDIDATES = 10;

/**
 * Selects the oldest jobs that may be claimed: the oldest queued job of each model without a job under way. Looking
 * for an older job of each queued one would read the ended jobs of its model each time. A model whose oldest job has
 * another kind waits for a trainer of that kind.
 */
export const nextJobs = (caller: Caller, baseModels: string[], kinds: JobKind[]) => sql<FoundJob>`
  SELECT q.project_id, q.id FROM (
    SELECT DISTINCT ON (j.project_id, j.model_id) j.project_id, j.model_id, j.created_at, j.id, j.kind FROM training_jobs j
    WHERE j.status = 'queued' AND ${isReached(sql`j.project_id`, caller)}
    ORDER BY j.project_id, j.model_id, j.created_at, j.id) q
  JOIN models n ON n.project_id = q.project_id AND n.id = q.model_id
  WHERE ${allOf(
    sql`NOT EXISTS (SELECT FROM training_jobs o
      WHERE o.project_id = q.project_id AND o.model_id = q.model_id AND ${isHeld(sql`o`)})`,
    sql`q.kind = ANY(${kinds}::text[])`,
    baseModels.length > 0 && sql`n.base_model = ANY(${baseModels}::text[])`,
  )}
  ORDER BY q.created_at, q.id LIMIT ${CANDIDATES}`;

export interface ClaimedRow {
  job_id: string;
  kind: JobKind;
  project_id: string;
  model_id: string;
  name: string;
  base_model: string;
  parent_step: number;
  attempt: number;
  /** The next three members are JSON texts. */
  config: string | null;
  experimental_config: string | null;
  state: string | null;
  lease_expires_at: string;
  bytes: number;
  sha256: string;
}

export interface Claim {
  workerId: string;
  tokenHash: Buffer;
}

/**
 * queued → leased, if the job may still be claimed. Skips a row that another claimer has locked. A unique index
 * prevents two claimers with the same snapshot from leasing two jobs of one model. The parent is the newest
 * checkpoint that was not trained on purged calls, or step 0. Files of an earlier attempt are kept if that attempt
 * had the same parent.
 */
export const claim = (
  { project_id: project, id }: Pick<JobRow, 'project_id' | 'id'>,
  { workerId, tokenHash }: Claim,
  { trainerLeaseSeconds }: Config,
): Sql<ClaimedRow> => {
  const parent = sql`greatest(0, (SELECT max(c.step) FROM checkpoints c
    WHERE c.project_id = ${project} AND c.model_id = j.model_id AND c.tainted_at IS NULL))`;
  return sql`
  UPDATE training_jobs j
  SET status = 'leased', attempt = j.attempt + 1, worker_id = ${workerId}, lease_token_hash = ${tokenHash},
    leased_at = now(), lease_expires_at = now() + ${seconds(trainerLeaseSeconds)},
    parent_step = ${parent}, state = (SELECT j.state WHERE j.parent_step = ${parent}), tainted_at = NULL
  FROM models m, trajectory_batches b
  WHERE j.project_id = ${project} AND j.status = 'queued'
    AND j.id = (SELECT q.id FROM training_jobs q
      WHERE q.project_id = ${project} AND q.id = ${id} AND q.status = 'queued' AND NOT EXISTS (
        SELECT FROM training_jobs o WHERE o.project_id = ${project} AND o.model_id = q.model_id
          AND (${isHeld(sql`o`)} OR (o.status = 'queued' AND (o.created_at, o.id) < (q.created_at, q.id))))
      FOR UPDATE OF q SKIP LOCKED)
    AND m.project_id = ${project} AND m.id = j.model_id
    AND b.project_id = ${project} AND b.id = j.batch_id
  RETURNING j.id AS job_id, j.kind, m.project_id, m.id AS model_id, m.name, m.base_model, j.parent_step, j.attempt,
    j.config::text AS config, j.experimental_config::text AS experimental_config, j.state::text AS state,
    skein_wire_time(j.lease_expires_at) AS lease_expires_at,
    b.payload_bytes::float8 AS bytes, encode(b.payload_sha256, 'hex') AS sha256`;
};

export const parentQuery = ({ project_id, model_id, parent_step }: ClaimedRow) => sql<{
  json: string;
}>`
  SELECT json_build_object('step', p.step, 'uri', c.uri, 'sha256', c.sha256, 'config', c.config,
    'files', coalesce(c.files, '[]'))::text AS json
  FROM (SELECT ${parent_step}::int AS step) p
  LEFT JOIN checkpoints c ON c.project_id = ${project_id} AND c.model_id = ${model_id} AND c.step = p.step`;

export const renewLease = (lease: Lease, { trainerLeaseSeconds }: Config) => sql<JobRow>`
  UPDATE training_jobs j SET lease_expires_at = now() + ${seconds(trainerLeaseSeconds)} WHERE ${isHeldBy(lease)} RETURNING ${JOB_COLUMNS}`;

/** leased → running. */
export const start = (lease: Lease) => sql<JobRow>`
  UPDATE training_jobs j SET status = 'running', started_at = coalesce(j.started_at, ${lease.job.at}::timestamptz)
  WHERE ${isHeldBy(lease)} AND j.status = 'leased' RETURNING ${JOB_COLUMNS}`;

/**
 * running → succeeded. With a reason, the job makes no step. The job is tainted if its parent became tainted
 * meanwhile.
 */
export function succeed(lease: Lease, reason: string | null): Sql<JobRow> {
  const { project_id: project } = lease.job;
  const next = sql`1 + (SELECT max(c.step) FROM checkpoints c WHERE c.project_id = ${project} AND c.model_id = j.model_id)`;
  return sql`
    UPDATE training_jobs j
    SET status = 'succeeded', finished_at = now(), lease_expires_at = NULL, state = NULL, no_step_reason = ${reason}::text,
      step = ${reason === null ? next : sql`NULL`},
      tainted_at = greatest(j.tainted_at, (SELECT max(p.tainted_at) FROM training_jobs p
        WHERE p.project_id = ${project} AND p.model_id = j.model_id AND p.step = j.parent_step))
    WHERE ${isHeldBy(lease)} AND j.status = 'running' RETURNING ${JOB_COLUMNS}`;
}

export interface NewCheckpoint {
  id: string;
  uri: string | null;
  sha256: string | null;
  sizeBytes: number | null;
  /** The next three members are JSON texts. */
  files: string | null;
  config: string | null;
  metrics: string;
}

export const checkpointAdd = (job: JobRow, checkpoint: NewCheckpoint) => sql`
  INSERT INTO checkpoints (project_id, model_id, step, id, metrics, uri, sha256, size_bytes, job_id, files, config, tainted_at)
  VALUES (${job.project_id}, ${job.model_id}, ${job.step}, ${checkpoint.id}, ${checkpoint.metrics}::jsonb,
    ${checkpoint.uri}, ${checkpoint.sha256}, ${checkpoint.sizeBytes}, ${job.id}, ${checkpoint.files}::json,
    ${checkpoint.config}::json, ${job.tainted_at}::timestamptz)`;

/** Reads the manifest of the parent's checkpoint, or of the files of an earlier attempt, while the lease is held. */
export const manifestQuery = (lease: Lease, of: 'parent' | 'state') => sql<{
  job_id: string | null;
  files: ManifestFileDto[] | null;
}>`
  SELECT ${of === 'state' ? sql`j.id AS job_id, j.state AS files` : sql`c.job_id, c.files`}
  FROM training_jobs j
  LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.parent_step
  WHERE ${isHeldBy(lease)}`;

interface Failure {
  isRetryable: boolean;
  message: string;
}

/**
 * leased, running → queued | failed | cancelled. A job with a requested cancellation is not tried again. A job that
 * is queued again keeps its place, which depends on its age. Its token is deleted, so that late reports of the old
 * attempt are refused.
 */
function endAttempt(
  guard: Sql,
  at: string,
  { isRetryable, message }: Failure,
  { trainerMaxAttempts }: Config,
): Sql<JobRow> {
  const isCancelled = sql`j.cancel_requested_at IS NOT NULL`;
  const isRetried = sql`(${isRetryable}::boolean AND j.attempt < ${trainerMaxAttempts} AND NOT ${isCancelled})`;
  return sql`
    UPDATE training_jobs j
    SET status = CASE WHEN ${isCancelled} THEN 'cancelled' WHEN ${isRetried} THEN 'queued' ELSE 'failed' END,
      error_message = CASE WHEN ${isCancelled} THEN ${CANCELLED} WHEN ${isRetried} THEN NULL ELSE ${message}::text END,
      state = CASE WHEN ${isRetried} THEN j.state END,
      finished_at = CASE WHEN ${isRetried} THEN NULL ELSE ${at}::timestamptz END,
      queued_at = CASE WHEN ${isRetried} THEN ${at}::timestamptz ELSE j.queued_at END,
      lease_token_hash = CASE WHEN ${isRetried} THEN NULL ELSE j.lease_token_hash END,
      lease_expires_at = NULL
    WHERE ${guard} RETURNING ${JOB_COLUMNS}`;
}

const CANCELLED = 'the job was cancelled';

export const fail = (lease: Lease, failure: Failure, config: Config): Sql<JobRow> =>
  endAttempt(isHeldBy(lease), lease.job.at, failure, config);

/** A kind of overdue jobs `j`, and the transition with which the watchdog ends them. */
export interface OverdueRule {
  condition: Sql;
  end: (guard: Sql, at: string) => Sql<JobRow>;
}

export function overdueKinds(config: Config): OverdueRule[] {
  const { trainingLimitSeconds, trainerMaxAttempts } = config;
  const isBefore = (time: Sql) => sql`${time} < now() - ${seconds(trainingLimitSeconds)}`;
  const tooLong = `the job ran for longer than ${trainingLimitSeconds} s`;
  const lost = `the trainer was lost in the last of ${trainerMaxAttempts} attempts`;
  return [
    {
      condition: sql`${IS_HELD} AND ${isBefore(sql`j.leased_at`)}`,
      end: (guard, at) => endAttempt(guard, at, { isRetryable: false, message: tooLong }, config),
    },
    {
      condition: sql`${IS_HELD} AND j.lease_expires_at <= now()`,
      end: (guard, at) => endAttempt(guard, at, { isRetryable: true, message: lost }, config),
    },
    {
      // queued → failed: no trainer claimed the job in time
      condition: sql`j.status = 'queued' AND ${isBefore(sql`j.queued_at`)}`,
      end: (guard) => sql`
        UPDATE training_jobs j SET status = 'failed', finished_at = now(), state = NULL,
          error_message = ${`no trainer took the job within ${trainingLimitSeconds} s`}
        WHERE ${guard} RETURNING ${JOB_COLUMNS}`,
    },
  ];
}

export const overdueJobs = ({ condition }: OverdueRule) => sql<FoundJob>`
  SELECT j.project_id, j.id, ${NOW_COLUMN} FROM training_jobs j WHERE ${condition} ORDER BY j.project_id, j.id LIMIT 100`;

export const overdueEnd = (
  { condition, end }: OverdueRule,
  job: Pick<FoundJob, 'project_id' | 'id' | 'at'>,
): Sql<JobRow> => end(sql`${isJob(job)} AND ${condition}`, job.at);

/** queued → cancelled. For a job that a trainer holds, only records the request. */
export const cancel = (job: FoundJob) => sql<JobRow>`
  UPDATE training_jobs j
  SET status = CASE WHEN j.status = 'queued' THEN 'cancelled' ELSE j.status END,
    state = CASE WHEN j.status <> 'queued' THEN j.state END,
    finished_at = CASE WHEN j.status = 'queued' THEN ${job.at}::timestamptz END,
    error_message = CASE WHEN j.status = 'queued' THEN ${CANCELLED} END,
    cancel_requested_at = coalesce(j.cancel_requested_at, ${job.at}::timestamptz)
  WHERE ${isJob(job)} AND ${IS_OPEN} RETURNING ${JOB_COLUMNS}`;

export const cancelModelJobs = (project: string, model: string) => sql<JobRow>`
  UPDATE training_jobs j
  SET status = 'cancelled', finished_at = now(), error_message = 'the model was deleted', lease_expires_at = NULL,
    state = NULL
  WHERE j.project_id = ${project} AND j.model_id = ${model} AND ${IS_OPEN} RETURNING ${JOB_COLUMNS}`;

export interface NewJobEvent {
  id: string;
  type: EventType;
  /** JSON text. */
  data: string;
  /** Number that the trainer gave the event; null for events of the service. */
  trainerSeq: number | null;
}

/** Appends events. The job's row must be locked, so that the order of events is the order of the transactions. */
export function eventsInsert({ project_id, id, attempt }: JobRow, events: NewJobEvent[]): Sql {
  const values = events.map(
    (event, i) =>
      sql`(${i + 1}::int, ${event.id}::uuid, ${event.type}::text, ${event.data}::json, ${event.trainerSeq}::bigint)`,
  );
  return sql`
    INSERT INTO training_job_events (project_id, job_id, seq, id, type, data, attempt, trainer_seq)
    SELECT ${project_id}::text, ${id}::uuid,
      n + (SELECT coalesce(max(seq), 0) FROM training_job_events WHERE project_id = ${project_id} AND job_id = ${id}),
      event_id, type, data, ${attempt}::int, trainer_seq
    FROM (VALUES ${join(values)}) AS e (n, event_id, type, data, trainer_seq)`;
}

/**
 * Selects the given event numbers that the attempt has used already. Also selects `training_started` of any attempt;
 * its number is null when an earlier attempt reported it.
 */
export const eventsKnown = ({ project_id, id, attempt }: JobRow, seqs: number[]) => sql<{
  seq: number | null;
  type: string;
}>`
  SELECT CASE WHEN type <> 'training_started' OR attempt = ${attempt} THEN trainer_seq::float8 END AS seq, type
  FROM training_job_events
  WHERE project_id = ${project_id} AND job_id = ${id}
    AND (type = 'training_started' OR (attempt = ${attempt} AND trainer_seq = ANY(${seqs}::bigint[])))`;

/** Hides the events of a failed attempt when the job is tried again. `training_started` stays visible. */
export const eventsHide = ({ project_id, id, attempt }: JobRow) => sql`
  UPDATE training_job_events SET is_hidden = true
  WHERE project_id = ${project_id} AND job_id = ${id} AND attempt = ${attempt} AND type <> 'training_started'`;
