import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * A file of a project, by the digest of its bytes. The bytes are the chunks of the upload that stored the file first.
 */
@ProjectTable('files', { rows: 'data', counted: { bytes: 'size_bytes' }, written: '0' })
export class File {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) digest!: string;
  @Column('uuid', { name: 'upload_id' }) uploadId!: string;
  @Column('int', { name: 'size_bytes' }) sizeBytes!: number;
}
