import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** Statistics of a thread at the time of the last refresh. They are exact, unless `thread_marks` names the thread. */
@ProjectTable('threads', { rows: 'derived' })
@Index('threads_updated_idx', { synchronize: false })
@Index('threads_started_idx', { synchronize: false })
@Index('threads_turns_idx', { synchronize: false })
@Index('threads_turns_asc_idx', ['projectId', 'turnCount', 'threadId'])
export class Thread {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'thread_id', collation: 'C' }) threadId!: string;
  @Column('int', { name: 'turn_count' }) turnCount!: number;
  @Column('timestamptz', { name: 'start_time' }) startTime!: Date;
  @Column('timestamptz', { name: 'last_updated' }) lastUpdated!: Date;
  @Column({ type: 'text', name: 'first_turn_id', collation: 'C' }) firstTurnId!: string;
  @Column({ type: 'text', name: 'last_turn_id', collation: 'C' }) lastTurnId!: string;
  @Column('double precision', { name: 'p50_turn_duration_ms', nullable: true })
  p50TurnDurationMs!: number | null;
  @Column('double precision', { name: 'p99_turn_duration_ms', nullable: true })
  p99TurnDurationMs!: number | null;
}
