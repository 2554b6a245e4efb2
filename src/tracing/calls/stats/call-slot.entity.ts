import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** Statistics of the calls that started within five minutes, as of their last refresh: exact, unless a mark names the slot. */
@ProjectTable('call_slots', { rows: 'derived' })
export class CallSlot {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('timestamptz') slot!: Date;
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('bigint', { name: 'ended_count' }) endedCount!: string;
  @Column('bigint', { name: 'error_count' }) errorCount!: string;
  /** Of calls that ended as they started. */
  @Column('bigint', { name: 'instant_count' }) instantCount!: string;
  /** Microseconds, as are the three below; null as long as no call has ended. */
  @Column('numeric', { name: 'latency_sum', nullable: true }) latencySum!: string | null;
  @Column('bigint', { name: 'latency_min', nullable: true }) latencyMin!: string | null;
  @Column('bigint', { name: 'latency_max', nullable: true }) latencyMax!: string | null;
  /** Each as eight bytes, sorted. */
  @Column('bytea', { nullable: true }) latencies!: Buffer | null;
  /** What the JSON of the calls takes, as it is stored. */
  @Column('bigint') bytes!: string;
}
