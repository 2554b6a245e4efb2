import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** Says that calls of a slot have changed since its statistics were refreshed, and how many came. Only ever inserted and deleted. */
@ProjectTable('call_slot_marks', { rows: 'derived' })
export class CallSlotMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('timestamptz') slot!: Date;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  /** Calls that can be seen now and could not before; below 0 when fewer can. */
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('timestamptz', { name: 'made_at', default: () => 'now()' }) madeAt!: Date;
  /** The parents and the responses of the calls that changed: other calls that have them may count something else now. */
  @Column('text', { name: 'parent_ids', array: true, nullable: true }) parentIds!: string[] | null;
  @Column('text', { name: 'response_ids', array: true, nullable: true }) responseIds!:
    string[] | null;
}
