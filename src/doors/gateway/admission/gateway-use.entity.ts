import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Requests and costs on one day (UTC). Rows are deleted after 90 days. */
@Entity('gateway_uses')
export class GatewayUse {
  /** Id of the person, the service key, or the subject of a workload. */
  @PrimaryColumn('text', { name: 'key_id', collation: 'C' }) holderId!: string;
  @PrimaryColumn('date') day!: string;
  @Column('bigint', { default: 0 }) requests!: string;
  /** In US dollars. Models without a known price are not counted. */
  @Column('numeric', { default: 0 }) cost!: string;
}
