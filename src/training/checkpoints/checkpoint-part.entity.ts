import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/**
 * A part of a file that a trainer has sent for a job. The chunks of its upload contain its bytes. A file is named by
 * the digest that its parts must have together. A part that is sent again, even by a later attempt, is therefore the
 * same part.
 */
@ProjectTable('checkpoint_parts', { rows: 'data', counted: { bytes: 'size_bytes' }, written: '0' })
export class CheckpointPart {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'job_id' }) jobId!: string;
  /** SHA-256 of the whole file, in hexadecimal. */
  @PrimaryColumn('text', { collation: 'C' }) file!: string;
  @PrimaryColumn('int') part!: number;
  @Column('uuid', { name: 'upload_id' }) uploadId!: string;
  @Column('int', { name: 'size_bytes' }) sizeBytes!: number;
}
