import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** A piece of a file. All pieces but the last have the same length. */
@ProjectTable('file_chunks', {
  rows: 'data',
  counted: null,
  written: 'octet_length(bytes)',
  upload: 'upload_id',
})
export class FileChunk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'upload_id' }) uploadId!: string;
  @PrimaryColumn('int', { name: 'chunk_index' }) chunkIndex!: number;
  @Column('bytea') bytes!: Buffer;
}
