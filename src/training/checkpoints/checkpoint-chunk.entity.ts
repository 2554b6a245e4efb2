import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A piece of a part of a checkpoint's file. All pieces but the last have the same length. */
@ProjectTable('checkpoint_chunks', {
  rows: 'data',
  counted: null,
  written: 'octet_length(bytes)',
  upload: 'upload_id',
})
export class CheckpointChunk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'upload_id' }) uploadId!: string;
  @PrimaryColumn('int') seq!: number;
  @Column('bytea') bytes!: Buffer;
}
