import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** Counts of a project, as of the marks that were applied. They are exact together with the remaining marks. */
@ProjectTable('projects', { rows: 'derived' })
export class Project {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Rows of the tables that constitute a project. A project without any does not exist. */
  @Column('bigint', { name: 'row_count' }) rowCount!: string;
  /** Visible calls. */
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('bigint') bytes!: string;
  /** Time of the last write or deletion. */
  @Column('timestamptz', { name: 'last_activity' }) lastActivity!: Date;
}
