import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

@ProjectTable('trajectories', {
  rows: 'data',
  counted: null,
  written: 'pg_column_size(written)',
  upload: 'batch_id',
})
@Index('trajectories_batch_idx', ['projectId', 'batchId'])
export class TrajectoryRecord {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'batch_id' }) batchId!: string;
  @Column('int', { name: 'group_index' }) groupIndex!: number;
  @Column('int', { name: 'trajectory_index' }) trajectoryIndex!: number;
  /** Number of sampled tokens: the entries of the logprobs of its choices. */
  @Column('int', { name: 'num_tokens' }) numTokens!: number;
  /** True when `document` holds `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse. */
  @Column('boolean', { name: 'is_opaque', default: false }) isOpaque!: boolean;
  @Column('double precision', { nullable: true }) reward!: number | null;
  @Column('timestamptz', { name: 'start_time' }) startTime!: Date;
  /** The trajectory as it was sent, without logprobs and token ids, and with the defaults of absent fields. */
  @Column('json') document!: unknown;
}
