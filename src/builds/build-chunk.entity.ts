import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A piece of the groups of a build: JSONL, one group a line, those of the training side first. For the migration check only. */
@Entity('build_chunks')
export class BuildChunk {
  @PrimaryColumn('text', {
    name: 'project_id',
    collation: 'C',
    primaryKeyConstraintName: 'build_chunks_pkey',
  })
  projectId!: string;
  @PrimaryColumn('uuid', { name: 'build_id', primaryKeyConstraintName: 'build_chunks_pkey' })
  buildId!: string;
  @PrimaryColumn('int', { primaryKeyConstraintName: 'build_chunks_pkey' }) seq!: number;
  @Column({ type: 'text', collation: 'C' }) split!: 'train' | 'eval';
  /** A gzip member. */
  @Column('bytea') text!: Buffer;
}
