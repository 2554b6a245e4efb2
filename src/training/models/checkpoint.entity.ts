import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A state of a model: step 0 is the base model, each training job that succeeds adds the next. */
@ProjectTable('checkpoints', { rows: 'data', counted: null })
export class Checkpoint {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('int') step!: number;
  @Column('uuid') id!: string;
  /** Flat. Computed here or by a trainer, so nothing in it has to come back as it was spelled. */
  @Column('jsonb', { default: {} }) metrics!: Record<string, number>;
  /** Where the trainer put it; null for step 0. */
  @Column({ type: 'text', collation: 'C', nullable: true }) uri!: string | null;
  @Column({ type: 'text', collation: 'C', nullable: true }) sha256!: string | null;
  @Column('bigint', { name: 'size_bytes', nullable: true }) sizeBytes!: string | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
