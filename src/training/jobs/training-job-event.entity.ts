import { Check, Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

export const EVENT_TYPES = [
  'training_started',
  'gradient_step',
  'training_ended',
  'training_failed',
  'note',
  'evaluation',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** An event of a training job that clients can read. */
@ProjectTable('training_job_events', {
  rows: 'data',
  counted: null,
  written: 'pg_column_size(written)',
})
@Index('training_job_events_trainer_seq_idx', ['projectId', 'jobId', 'attempt', 'trainerSeq'], {
  unique: true,
})
@Index('training_job_events_once_idx', ['projectId', 'jobId', 'type'], {
  unique: true,
  where: `type IN ('training_started', 'training_ended', 'training_failed')`,
})
@Check(
  'training_job_events_type_check',
  `type IN (${EVENT_TYPES.map((type) => `'${type}'`).join(', ')})`,
)
export class TrainingJobEvent {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'job_id' }) jobId!: string;
  /** Order within the job. */
  @PrimaryColumn('int') seq!: number;
  @Column('uuid') id!: string;
  @Column({ type: 'text', collation: 'C' }) type!: EventType;
  @Column('json') data!: object;
  @Column('int') attempt!: number;
  /** Number that the trainer gave the event within the attempt; null for events of the service. */
  @Column('bigint', { name: 'trainer_seq', nullable: true }) trainerSeq!: string | null;
  /** True for an attempt that failed and was tried again. */
  @Column('boolean', { name: 'is_hidden', default: false }) isHidden!: boolean;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
