import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** What a project holds, as of the marks that were taken. It is exact together with the marks that are left. */
@ProjectTable('projects', { rows: 'derived' })
export class Project {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Rows of the tables that make a project; a project without any is gone. */
  @Column('bigint', { name: 'row_count' }) rowCount!: string;
  /** Calls that can be seen. */
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('bigint') bytes!: string;
  /** When something was last written or deleted. */
  @Column('timestamptz', { name: 'last_activity' }) lastActivity!: Date;
}
