import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A call or a piece of feedback that went into a build: a line of its manifest. */
@ProjectTable('build_inputs', { rows: 'data', counted: null, written: 'pg_column_size(written)' })
@Index('build_inputs_id_idx', ['projectId', 'kind', 'id'])
export class BuildInput {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'build_id' }) buildId!: string;
  @PrimaryColumn('text', { collation: 'C' })
  kind!: 'call' | 'feedback';
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  /** SHA-256 of its stored texts, in hex. */
  @Column({ type: 'text', collation: 'C' }) sha256!: string;
}
