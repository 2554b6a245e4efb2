import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A piece of the payload of a body with trajectory groups, in the order of `seq`. */
@ProjectTable('body_chunks', {
  rows: 'data',
  counted: null,
  written: 'octet_length(text)',
  upload: 'batch_id',
})
export class BodyChunk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'batch_id' }) batchId!: string;
  @PrimaryColumn('int') seq!: number;
  /** One gzip member. The payload is the members of all chunks, one after the other. */
  @Column('bytea') text!: Buffer;
  /** Lines of the payload that end before the chunk; null for chunks that are older than this column. */
  @Column('int', { name: 'groups_before', nullable: true }) groupsBefore!: number | null;
}
