import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/**
 * Rows, calls and bytes that one statement added to a project or removed from it. Rows are only inserted and deleted.
 */
@ProjectTable('project_marks', { rows: 'count marks' })
export class ProjectMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  @Column('bigint', { name: 'row_count' }) rowCount!: string;
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('bigint') bytes!: string;
  /** Bytes of the rows that were inserted or updated. */
  @Column('bigint', { name: 'written_bytes', default: 0 }) writtenBytes!: string;
  @Column('timestamptz', { name: 'made_at', default: () => 'now()' }) madeAt!: Date;
}
