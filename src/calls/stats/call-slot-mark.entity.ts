import { Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

const KEY = { primaryKeyConstraintName: 'call_slot_marks_pkey' };

/** Says that calls of a slot have changed since its statistics were refreshed. Only ever inserted and deleted. */
@Entity('call_slot_marks')
export class CallSlotMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C', ...KEY }) projectId!: string;
  @PrimaryColumn('timestamptz', { ...KEY }) slot!: Date;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', ...KEY })
  id!: string;
}
