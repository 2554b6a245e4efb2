import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** What one statement has added to a project, or taken from it. Only ever inserted and deleted. For the migration check only. */
@Entity('project_marks')
export class ProjectMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  @Column('bigint', { name: 'row_count' }) rowCount!: string;
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('bigint') bytes!: string;
  @Column('timestamptz', { name: 'made_at', default: () => 'now()' }) madeAt!: Date;
}
