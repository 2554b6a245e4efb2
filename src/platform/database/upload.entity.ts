import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from './project-table.js';

/** A large body that is being received: what came of it is staged under its id, and nobody sees that before it is kept. */
@ProjectTable('uploads', { rows: 'uploads' })
export class StoredUpload {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  /** One that is not touched for long was left behind by a process that died. */
  @Column('timestamptz', { name: 'touched_at', default: () => 'now()' }) touchedAt!: Date;
}
