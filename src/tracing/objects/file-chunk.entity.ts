import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A piece of a file: all but the last have the same length. */
@Entity('file_chunks')
export class FileChunk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'upload_id' }) uploadId!: string;
  @PrimaryColumn('int', { name: 'chunk_index' }) chunkIndex!: number;
  @Column('bytea') bytes!: Buffer;
}
