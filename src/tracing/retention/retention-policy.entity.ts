import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** How long a project keeps what, in days; null is for ever. */
@ProjectTable('retention_policies', { rows: 'data', counted: null })
export class RetentionPolicy {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Of whole calls. */
  @Column('int', { name: 'calls_days', nullable: true }) callsDays!: number | null;
  /** Of their payloads. */
  @Column('int', { name: 'payload_days', nullable: true }) payloadDays!: number | null;
  /** The last call that the walk over payloads has looked at: its start and its id; null at the beginning. */
  @Column('json', { name: 'payload_cursor', nullable: true }) payloadCursor!: unknown;
  /** When the walk began. It begins anew each day, for calls that came late. */
  @Column('timestamptz', { name: 'walk_started_at', default: () => 'now()' }) walkStartedAt!: Date;
}
