import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A body that is being received: its chunks and trajectories are staged under its id, and nobody sees them. It ends as a batch. */
@Entity('trajectory_uploads')
export class TrajectoryUpload {
  @PrimaryColumn('text', {
    name: 'project_id',
    collation: 'C',
    primaryKeyConstraintName: 'trajectory_uploads_pkey',
  })
  projectId!: string;
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'trajectory_uploads_pkey' }) id!: string;
  /** One that is not touched for long was left behind by a process that died. */
  @Column('timestamptz', { name: 'touched_at', default: () => 'now()' }) touchedAt!: Date;
}
