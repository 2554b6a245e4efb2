import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../database/project-table.js';

/**
 * An erasing that is under way, or has ended within the last day. What it is to erase is kept only while it is under
 * way: once it has ended, nothing of what is gone stands in it.
 */
@ProjectTable('erasings', { rows: 'kept' })
@Index('erasings_open_idx', ['touchedAt'], { where: 'ended_at IS NULL' })
@Index('erasings_ended_idx', ['endedAt'], { where: 'ended_at IS NOT NULL' })
export class Erasing {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  /** Who knows the next step: the name under which it was registered. */
  @Column({ type: 'text', collation: 'C' }) kind!: string;
  /** What is to be erased, as its kind reads it. */
  @Column('json', { nullable: true }) request!: object | null;
  /** Ids of what is to be erased, where it was looked up when the erasing began. */
  @Column({ type: 'text', array: true, nullable: true, collation: 'C' }) targets!: string[] | null;
  /** How far it is. */
  @Column('json', { nullable: true }) cursor!: object | null;
  /** Rows erased so far, by what they were. */
  @Column('json', { default: '{}' }) counts!: Record<string, number>;
  @Column('uuid', { name: 'key_id' }) keyId!: string;
  @Column({ type: 'text', name: 'user_name', collation: 'C' }) userName!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** When its last step ended. */
  @Column('timestamptz', { name: 'touched_at', default: () => 'now()' }) touchedAt!: Date;
  @Column('timestamptz', { name: 'ended_at', nullable: true }) endedAt!: Date | null;
}
