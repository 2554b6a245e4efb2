import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from './project-table.js';

/**
 * A large body that is being received. Its parts are staged under its id, and stay invisible until the upload is kept.
 */
@ProjectTable('uploads', { rows: 'uploads' })
export class StoredUpload {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  /** Time of the last activity. An upload that stays untouched for long was left behind by a process that died. */
  @Column('timestamptz', { name: 'touched_at', default: () => 'now()' }) touchedAt!: Date;
}
