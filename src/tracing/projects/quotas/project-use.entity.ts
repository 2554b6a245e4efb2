import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The use of the service by an entity (`project` is `*`), or by one of its projects, on one day (UTC). Rows are deleted
 * after 90 days. They stay when the project is erased, because erasing must not give a new quota.
 */
@Entity('project_uses')
export class ProjectUse {
  @PrimaryColumn('date') day!: string;
  @PrimaryColumn('text', { collation: 'C' }) entity!: string;
  @PrimaryColumn('text', { collation: 'C' }) project!: string;
  @Column('bigint', { default: 0 }) requests!: string;
  /** Requests among them that a quota refused. */
  @Column('bigint', { name: 'refused_requests', default: 0 }) refusedRequests!: string;
  @Column('bigint', { name: 'received_bytes', default: 0 }) receivedBytes!: string;
  @Column('bigint', { name: 'written_bytes', default: 0 }) writtenBytes!: string;
  @Column('bigint', { default: 0 }) calls!: string;
  /** Time for which connection slots were held. Slots are counted by entity only. */
  @Column('bigint', { name: 'slot_ms', default: 0 }) slotMs!: string;
}
