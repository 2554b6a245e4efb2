import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** A project whose calls of an older build are looked through for orphans: those that began after this place, and before `until`. */
@ProjectTable('orphan_walks', { rows: 'data', counted: null })
export class OrphanWalk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @Column('timestamptz') until!: Date;
  @Column('timestamptz', { name: 'started_at', default: () => "'-infinity'" }) startedAt!: Date;
  @Column({ type: 'text', name: 'call_id', collation: 'C', default: '' }) callId!: string;
}
