import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A piece of the groups of a build, as JSONL: one group a line, groups of the training side first. */
@ProjectTable('build_chunks', { rows: 'data', counted: { bytes: 'octet_length(text)' } })
export class BuildChunk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'build_id' }) buildId!: string;
  @PrimaryColumn('int') seq!: number;
  @Column({ type: 'text', collation: 'C' }) split!: 'train' | 'eval';
  /** One gzip member. */
  @Column('bytea') text!: Buffer;
}
