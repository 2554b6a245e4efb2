import { Check, Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * A requested index on a path in the documents of a project's calls. PostgreSQL's catalogue shows whether the index
 * exists.
 */
@ProjectTable('call_indexes', { rows: 'data', counted: null })
@Check('call_indexes_kind_check', `kind IN ('text', 'number', 'substring')`)
export class CallIndex {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Name of the index in PostgreSQL: contains a digest of the project, the path and the kind. */
  @PrimaryColumn('text', { collation: 'C' }) name!: string;
  /** The path as it was spelled in the first request. */
  @Column({ type: 'text', collation: 'C' }) field!: string;
  @Column({ type: 'text', collation: 'C' }) kind!: 'text' | 'number' | 'substring';
  /** Reason for which the index could not be made. Null until an attempt fails; a new request sets it to null again. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) error!: string | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
