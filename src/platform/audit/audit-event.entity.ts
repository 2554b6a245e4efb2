import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../database/project-table.js';

/** One event of the audit log. Rows are only inserted: a trigger refuses everything else. */
@ProjectTable('audit_events', { rows: 'kept' })
@Index('audit_events_created_idx', ['createdAt', 'id'])
@Index('audit_events_use_idx', { synchronize: false })
export class AuditEvent {
  /** Empty when the event does not concern a single project. */
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;
  @Column({ type: 'text', collation: 'C' }) action!: string;
  /** The key that acted; null for the command line and for the first start. */
  @Column('uuid', { name: 'key_id', nullable: true }) keyId!: string | null;
  /** User name of the key, or of the operating system. */
  @Column({ type: 'text', name: 'user_name', collation: 'C' }) userName!: string;
  /** Id or name of the changed item. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) target!: string | null;
  /** Scopes of the key that the event is about. They decide who may see the event. */
  @Column({ type: 'text', array: true, nullable: true, collation: 'C' }) scopes!: string[] | null;
  @Column('json') detail!: unknown;
  /** The person who acted, in a session or with a personal key. */
  @Column('uuid', { name: 'user_id', nullable: true }) userId!: string | null;
}
