import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../database/project-table.js';

/** A legal hold. Nothing of its project is erased while it is set. */
@ProjectTable('legal_holds', { rows: 'data', counted: null })
export class LegalHold {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) name!: string;
  /** Name of the user who set it. */
  @Column({ type: 'text', name: 'user_name', collation: 'C' }) userName!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
