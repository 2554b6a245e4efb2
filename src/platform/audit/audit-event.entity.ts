import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../database/project-table.js';

/** Who did what, and when. Rows are only ever inserted: a trigger refuses everything else. */
@ProjectTable('audit_events', { rows: 'kept' })
@Index('audit_events_created_idx', ['createdAt', 'id'])
@Index('audit_events_use_idx', { synchronize: false })
export class AuditEvent {
  /** Empty for what concerns no single project. */
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;
  @Column({ type: 'text', collation: 'C' }) action!: string;
  /** The key that acted; null for the command line and for the first start. */
  @Column('uuid', { name: 'key_id', nullable: true }) keyId!: string | null;
  /** Of the key, or of the operating system. */
  @Column({ type: 'text', name: 'user_name', collation: 'C' }) userName!: string;
  /** The id or name of what it was done to. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) target!: string | null;
  /** Of the key that the event is about: who may see it. */
  @Column({ type: 'text', array: true, nullable: true, collation: 'C' }) scopes!: string[] | null;
  @Column('json') detail!: unknown;
  /** The person who acted, in a session or by a key of theirs. */
  @Column('uuid', { name: 'user_id', nullable: true }) userId!: string | null;
}
