import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** Conversations that a client has sent for training. `body_chunks` contains their text. */
@ProjectTable('training_data', { rows: 'data', counted: { bytes: 'size_bytes' } })
@Index('training_data_id_idx', ['id'])
export class TrainingData {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('int', { name: 'num_rows' }) numRows!: number;
  /** Size of the body as it was sent. */
  @Column('bigint', { name: 'size_bytes' }) sizeBytes!: string;
  @Column({ type: 'text', collation: 'C' }) sha256!: string;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
