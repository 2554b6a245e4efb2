import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../database/project-table.js';

/**
 * An erasing that is running, or ended within the last day. The description of the erased data is kept only while it
 * runs, so that nothing of the data remains afterwards.
 */
@ProjectTable('erasings', { rows: 'kept' })
@Index('erasings_open_idx', ['touchedAt'], { where: 'ended_at IS NULL' })
@Index('erasings_ended_idx', ['endedAt'], { where: 'ended_at IS NOT NULL' })
export class Erasing {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  /** Name under which the function for the next step was registered. */
  @Column({ type: 'text', collation: 'C' }) kind!: string;
  /** The data to erase, in the format of its kind. */
  @Column('json', { nullable: true }) request!: object | null;
  /** Ids of the data to erase, when they were looked up at the start. */
  @Column({ type: 'text', array: true, nullable: true, collation: 'C' }) targets!: string[] | null;
  /** Position after the last step. */
  @Column('json', { nullable: true }) cursor!: object | null;
  /** Rows erased so far, by kind of row. */
  @Column('json', { default: '{}' }) counts!: Record<string, number>;
  @Column('uuid', { name: 'key_id' }) keyId!: string;
  @Column({ type: 'text', name: 'user_name', collation: 'C' }) userName!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** End of the last step. */
  @Column('timestamptz', { name: 'touched_at', default: () => 'now()' }) touchedAt!: Date;
  @Column('timestamptz', { name: 'ended_at', nullable: true }) endedAt!: Date | null;
}
