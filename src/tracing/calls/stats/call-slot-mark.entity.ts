import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * Marks a slot whose calls have changed since its statistics were refreshed, and by how many. Marks are only inserted
 * and deleted.
 */
@ProjectTable('call_slot_marks', { rows: 'derived' })
export class CallSlotMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('timestamptz') slot!: Date;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  /** Number of calls that became visible, minus those that are no longer visible. */
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  /** Bytes that the slot gained, or lost, since it was computed. */
  @Column('bigint', { default: 0 }) bytes!: string;
  @Column('timestamptz', { name: 'made_at', default: () => 'now()' }) madeAt!: Date;
  /**
   * Parents and responses of the calls that changed. The counted usage of other calls with these may have changed too.
   */
  @Column('text', { name: 'parent_ids', array: true, nullable: true }) parentIds!: string[] | null;
  @Column('text', { name: 'response_ids', array: true, nullable: true }) responseIds!:
    string[] | null;
}
