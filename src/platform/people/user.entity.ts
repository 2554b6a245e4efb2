import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A person, with the data that a provider reports. Issuer and subject identify the account, because e-mail addresses
 * may get new owners.
 */
@Entity('users')
@Index('users_account_idx', ['issuer', 'subject'], { unique: true })
@Index('users_email_idx', ['email'], { where: 'email_verified' })
export class User {
  @PrimaryColumn('uuid') id!: string;
  @Column({ type: 'text', collation: 'C' }) issuer!: string;
  @Column({ type: 'text', collation: 'C' }) subject!: string;
  /** In the form of `emailKey`. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) email!: string | null;
  @Column('boolean', { name: 'email_verified' }) emailVerified!: boolean;
  @Column({ type: 'text', nullable: true, collation: 'C' }) name!: string | null;
  /** The groups that the provider reported last. */
  @Column({ type: 'text', array: true, collation: 'C' }) groups!: string[];
  @Column('boolean', { name: 'is_active', default: () => 'true' }) isActive!: boolean;
  @Column('timestamptz', { name: 'first_seen', default: () => 'now()' }) firstSeen!: Date;
  @Column('timestamptz', { name: 'last_seen', default: () => 'now()' }) lastSeen!: Date;
}
