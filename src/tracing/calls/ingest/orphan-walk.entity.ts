import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * A project in which calls of an older build are searched for orphans. Calls that began after this position and before
 * `until` are still to be read.
 */
@ProjectTable('orphan_walks', { rows: 'data', counted: null })
export class OrphanWalk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @Column('timestamptz') until!: Date;
  @Column('timestamptz', { name: 'started_at', default: () => "'-infinity'" }) startedAt!: Date;
  @Column({ type: 'text', name: 'call_id', collation: 'C', default: '' }) callId!: string;
}
