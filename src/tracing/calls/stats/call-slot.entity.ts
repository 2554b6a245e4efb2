import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * Statistics of the calls that started within five minutes, at the time of the last refresh. They are exact, unless a
 * mark names the slot.
 */
@ProjectTable('call_slots', { rows: 'derived' })
@Index('call_slots_computed_idx', ['projectId', 'slot', 'computedAt'])
export class CallSlot {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('timestamptz') slot!: Date;
  @Column('bigint', { name: 'call_count' }) callCount!: string;
  @Column('bigint', { name: 'ended_count' }) endedCount!: string;
  @Column('bigint', { name: 'error_count' }) errorCount!: string;
  /** Number of calls that ended at the time of their start. */
  @Column('bigint', { name: 'instant_count' }) instantCount!: string;
  /** Microseconds, as in the three columns below. Null if no call has ended. */
  @Column('numeric', { name: 'latency_sum', nullable: true }) latencySum!: string | null;
  @Column('bigint', { name: 'latency_min', nullable: true }) latencyMin!: string | null;
  @Column('bigint', { name: 'latency_max', nullable: true }) latencyMax!: string | null;
  /** Eight bytes for each latency, sorted. */
  @Column('bytea', { nullable: true }) latencies!: Buffer | null;
  /** Stored size of the JSON of the calls. */
  @Column('bigint') bytes!: string;
  /** Exports by schedule notice by it that calls of the slot have changed. */
  @Column('timestamptz', { name: 'computed_at', default: () => 'now()' }) computedAt!: Date;
}
