import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A training job that a build was submitted to. */
@ProjectTable('build_jobs', { rows: 'data', counted: null })
@Index('build_jobs_job_idx', ['projectId', 'jobId'])
export class BuildJob {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'build_id' }) buildId!: string;
  @PrimaryColumn('uuid', { name: 'job_id' }) jobId!: string;
  /** The log batch with the evaluation side; null when that side is empty. */
  @Column('uuid', { name: 'log_batch_id', nullable: true }) logBatchId!: string | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'erased_at', nullable: true }) erasedAt!: Date | null;
}
