import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A file, named by a manifest. */
export interface ManifestFile {
  name: string;
  size_bytes: number;
  sha256: string;
}

/** A state of a model: step 0 is the base model, each training job that succeeds adds the next. */
@ProjectTable('checkpoints', { rows: 'data', counted: null })
export class Checkpoint {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('int') step!: number;
  @Column('uuid') id!: string;
  /** Flat. Computed here or by a trainer, so nothing in it has to come back as it was spelled. */
  @Column('jsonb', { default: {} }) metrics!: Record<string, number>;
  /** The job that made it; null for step 0 and for those from before it was noted. */
  @Column('uuid', { name: 'job_id', nullable: true }) jobId!: string | null;
  /** Where the trainer put it; null for step 0, and when its files are here. */
  @Column({ type: 'text', collation: 'C', nullable: true }) uri!: string | null;
  @Column({ type: 'text', collation: 'C', nullable: true }) sha256!: string | null;
  @Column('bigint', { name: 'size_bytes', nullable: true }) sizeBytes!: string | null;
  /** The manifest of the files that are here. */
  @Column('json', { nullable: true }) files!: ManifestFile[] | null;
  /** What the trainer says of them: free-form. */
  @Column('json', { nullable: true }) config!: object | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** When calls were purged that it, or one of its ancestors, was trained on. */
  @Column('timestamptz', { name: 'tainted_at', nullable: true }) taintedAt!: Date | null;
}
