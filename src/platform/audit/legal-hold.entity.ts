import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../database/project-table.js';

/** A legal hold of a project, or of one of its traces or threads. Nothing of it is erased while the hold is set. */
@ProjectTable('legal_holds', { rows: 'data', counted: null })
export class LegalHold {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) name!: string;
  /** Null together with `threadId` in a hold of the whole project. */
  @Column({ type: 'text', name: 'trace_id', nullable: true, collation: 'C' }) traceId!:
    string | null;
  @Column({ type: 'text', name: 'thread_id', nullable: true, collation: 'C' }) threadId!:
    string | null;
  @Column({ type: 'text', nullable: true, collation: 'C' }) reason!: string | null;
  /** Name of the user who set it. */
  @Column({ type: 'text', name: 'user_name', collation: 'C' }) userName!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
