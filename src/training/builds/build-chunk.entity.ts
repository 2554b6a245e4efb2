import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A piece of the groups of a build: JSONL, one group a line, those of the training side first. For the migration check only. */
@Entity('build_chunks')
export class BuildChunk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'build_id' }) buildId!: string;
  @PrimaryColumn('int') seq!: number;
  @Column({ type: 'text', collation: 'C' }) split!: 'train' | 'eval';
  /** A gzip member. */
  @Column('bytea') text!: Buffer;
}
