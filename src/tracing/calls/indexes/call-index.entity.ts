import { Check, Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** A path of the calls of a project that is wanted as an index. Whether it is there yet is known to PostgreSQL. */
@ProjectTable('call_indexes', { rows: 'data', counted: null })
@Check('call_indexes_kind_check', `kind IN ('text', 'number', 'substring')`)
export class CallIndex {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Of the index in PostgreSQL: a digest of the project, the path and the kind. */
  @PrimaryColumn('text', { collation: 'C' }) name!: string;
  /** As it was given first. */
  @Column({ type: 'text', collation: 'C' }) field!: string;
  @Column({ type: 'text', collation: 'C' }) kind!: 'text' | 'number' | 'substring';
  /** Why it could not be made; null while that is to be tried. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) error!: string | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
