import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

export interface ManifestFile {
  name: string;
  size_bytes: number;
  sha256: string;
}

/** A state of a model: step 0 is the base model, and each training job that succeeds adds the next step. */
@ProjectTable('checkpoints', { rows: 'data', counted: null })
export class Checkpoint {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('int') step!: number;
  @Column('uuid') id!: string;
  /**
   * A flat map of numbers. The service or a trainer has computed them, so the spelling of a number need not be kept.
   */
  @Column('jsonb', { default: {} }) metrics!: Record<string, number>;
  /** Id of the job that made it; null for step 0, and for checkpoints that are older than this column. */
  @Column('uuid', { name: 'job_id', nullable: true }) jobId!: string | null;
  /** Location that the trainer reported; null for step 0, and when Skein stores the files. */
  @Column({ type: 'text', collation: 'C', nullable: true }) uri!: string | null;
  @Column({ type: 'text', collation: 'C', nullable: true }) sha256!: string | null;
  @Column('bigint', { name: 'size_bytes', nullable: true }) sizeBytes!: string | null;
  /** Manifest of the files that Skein stores. */
  @Column('json', { nullable: true }) files!: ManifestFile[] | null;
  /** Free-form settings that the trainer reported. */
  @Column('json', { nullable: true }) config!: object | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** Time when calls that the checkpoint or one of its ancestors was trained on were purged. */
  @Column('timestamptz', { name: 'tainted_at', nullable: true }) taintedAt!: Date | null;
}
