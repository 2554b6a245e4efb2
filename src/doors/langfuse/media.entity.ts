import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/**
 * A picture, sound or other media file that documents name by its id. Its bytes are a file of the project, once
 * uploaded.
 */
@ProjectTable('media', { rows: 'data', counted: null })
export class Media {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** The first 22 characters of the SHA-256 in base64url, as SDKs compute it. */
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column({ type: 'text', name: 'content_type', collation: 'C' }) contentType!: string;
  @Column('int', { name: 'size_bytes' }) sizeBytes!: number;
  /** SHA-256 of the bytes in base64. */
  @Column({ type: 'text', collation: 'C' }) sha256!: string;
  /** Key that signs the URLs of the bytes. */
  @Column('bytea') secret!: Buffer;
  /** Digest of the file; null until the bytes are uploaded. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) digest!: string | null;
  @Column('timestamptz', { name: 'uploaded_at', nullable: true }) uploadedAt!: Date | null;
}
