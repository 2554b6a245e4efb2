import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Limits of an entity (`project` is `*`), or of one of its projects. Null is no limit of its own. */
@Entity('quotas')
export class Quota {
  @PrimaryColumn('text', { collation: 'C' }) entity!: string;
  @PrimaryColumn('text', { collation: 'C' }) project!: string;
  @Column('bigint', { name: 'stored_bytes', nullable: true }) storedBytes!: string | null;
  @Column('bigint', { name: 'written_bytes_per_day', nullable: true })
  writtenBytesPerDay!: string | null;
  @Column('bigint', { name: 'calls_per_day', nullable: true }) callsPerDay!: string | null;
  @Column('bigint', { name: 'requests_per_minute', nullable: true })
  requestsPerMinute!: string | null;
}
