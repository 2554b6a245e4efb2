import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** Says that calls of a slot have changed since its statistics were refreshed, and how many came. Only ever inserted and deleted. For the migration check only. */
@Entity('call_slot_marks')
export class CallSlotMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('timestamptz') slot!: Date;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  /** Calls that can be seen now and could not before; below 0 when fewer can. */
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('timestamptz', { name: 'made_at', default: () => 'now()' }) madeAt!: Date;
}
