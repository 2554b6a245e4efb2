import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The clock of the database as retention has seen it last. There is one row. */
@Entity('retention_clock')
export class RetentionClock {
  @PrimaryColumn('boolean', { name: 'is_only', default: true }) isOnly!: boolean;
  @Column('timestamptz', { name: 'seen_at' }) seenAt!: Date;
  /** Time by which the clock has jumped ahead and not back; 0 unless retention waits. */
  @Column('double precision', { name: 'ahead_ms', default: 0 }) aheadMs!: number;
  /** Null unless retention waits. */
  @Column('timestamptz', { name: 'waits_until', nullable: true }) waitsUntil!: Date | null;
}
