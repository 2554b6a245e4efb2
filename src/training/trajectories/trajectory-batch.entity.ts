import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** The trajectory groups of one request that was received completely. */
@ProjectTable('trajectory_batches', {
  rows: 'data',
  counted: { bytes: 'body_bytes' },
  written: '0',
})
@Index('trajectory_batches_model_idx', ['projectId', 'modelId'])
export class TrajectoryBatch {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'model_id' }) modelId!: string;
  /** Null for the groups of a training job. */
  @Column({ type: 'text', collation: 'C', nullable: true }) split!: string | null;
  /** Null for logged groups. */
  @Column('uuid', { name: 'job_id', nullable: true }) jobId!: string | null;
  /** Step of the latest checkpoint when the groups arrived. */
  @Column('int') step!: number;
  @Column('int', { name: 'num_groups' }) numGroups!: number;
  @Column('int', { name: 'num_trajectories' }) numTrajectories!: number;
  @Column('bigint', { name: 'body_bytes' }) bodyBytes!: string;
  @Column('bytea', { name: 'body_sha256' }) bodySha256!: Buffer;
  /** Size of the gzip JSONL that trainers read. */
  @Column('bigint', { name: 'payload_bytes' }) payloadBytes!: string;
  @Column('bytea', { name: 'payload_sha256' }) payloadSha256!: Buffer;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
