import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What a key has asked of models in a day (UTC). Kept for as long as somebody may look back. */
@Entity('gateway_uses')
export class GatewayUse {
  @PrimaryColumn('text', { name: 'key_id', collation: 'C' }) keyId!: string;
  @PrimaryColumn('date') day!: string;
  @Column('bigint', { default: 0 }) requests!: string;
  /** In US dollars, as far as prices are known. */
  @Column('numeric', { default: 0 }) cost!: string;
}
