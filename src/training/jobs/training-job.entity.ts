import { Check, Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import type { ManifestFile } from '../models/checkpoint.entity.js';
import { changeKind } from '../../platform/database/changes.js';

export const JOBS = changeKind('jobs');

export const STATUSES = [
  'queued',
  'leased',
  'running',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type JobStatus = (typeof STATUSES)[number];

/** `rl` trains on trajectory groups with rewards, `sft` on conversations. */
export const JOB_KINDS = ['rl', 'sft'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** A training job and its place in the queue. docs/adr/0041-job-queue.md describes the states. */
@ProjectTable('training_jobs', { rows: 'data', counted: null })
@Index('training_jobs_id_idx', ['id'])
@Index('training_jobs_queue_idx', ['createdAt', 'id'], { where: `status = 'queued'` })
@Index('training_jobs_model_idx', ['projectId', 'modelId', 'id'])
@Index('training_jobs_parent_idx', ['projectId', 'modelId', 'parentStep'])
@Index('training_jobs_one_running_idx', ['projectId', 'modelId'], {
  unique: true,
  where: `status IN ('leased', 'running')`,
})
@Check(
  'training_jobs_status_check',
  `status IN (${STATUSES.map((status) => `'${status}'`).join(', ')})`,
)
@Check('training_jobs_kind_check', `kind IN (${JOB_KINDS.map((kind) => `'${kind}'`).join(', ')})`)
export class TrainingJob {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'model_id' }) modelId!: string;
  @Column('uuid', { name: 'batch_id' }) batchId!: string;
  @Column({ type: 'text', collation: 'C', default: 'queued' }) status!: JobStatus;
  /** Number of claims. */
  @Column('int', { default: 0 }) attempt!: number;
  @Column('int', { name: 'parent_step', nullable: true }) parentStep!: number | null;
  /** Step of the checkpoint that the job made. */
  @Column('int', { nullable: true }) step!: number | null;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  @Column({ type: 'text', collation: 'C', name: 'worker_id', nullable: true }) workerId!:
    string | null;
  /** Kept after the end of the job, so that a report that is sent again gets the same answer. */
  @Column('bytea', { name: 'lease_token_hash', nullable: true }) leaseTokenHash!: Buffer | null;
  @Column('timestamptz', { name: 'lease_expires_at', nullable: true }) leaseExpiresAt!: Date | null;
  @Column('timestamptz', { name: 'leased_at', nullable: true }) leasedAt!: Date | null;
  @Column('timestamptz', { name: 'queued_at', default: () => 'now()' }) queuedAt!: Date;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'started_at', nullable: true }) startedAt!: Date | null;
  @Column('timestamptz', { name: 'finished_at', nullable: true }) finishedAt!: Date | null;
  @Column('timestamptz', { name: 'cancel_requested_at', nullable: true })
  cancelRequestedAt!: Date | null;
  @Column({ type: 'text', collation: 'C', name: 'error_message', nullable: true }) errorMessage!:
    string | null;
  /** Manifest of the files that an attempt left for the next one. */
  @Column('json', { nullable: true }) state!: ManifestFile[] | null;
  @Column({ type: 'text', collation: 'C', name: 'no_step_reason', nullable: true })
  noStepReason!: string | null;
  @Column('json', { name: 'experimental_config', nullable: true }) experimentalConfig!: unknown;
  @Column({ type: 'text', collation: 'C', default: 'rl' }) kind!: JobKind;
  /** For `sft` jobs: the settings of the client. `trainingDataUrl` is the source of the rows. */
  @Column('json', { nullable: true }) config!: unknown;
  @Column({ type: 'text', collation: 'C', name: 'training_data_url', nullable: true })
  trainingDataUrl!: string | null;
  /** Time when calls that the job or one of its ancestors was trained on were purged. */
  @Column('timestamptz', { name: 'tainted_at', nullable: true }) taintedAt!: Date | null;
  /** Id of the job whose training this one repeats without purged calls. */
  @Column('uuid', { name: 'retrains_job_id', nullable: true }) retrainsJobId!: string | null;
}
