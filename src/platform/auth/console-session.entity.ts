import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Stands for an API key or a person in a browser: a session, or the code of a login link, which becomes one when it is
 * used.
 */
@Entity('console_sessions')
@Index('console_sessions_user_idx', ['userId'], { where: 'user_id IS NOT NULL' })
@Index('console_sessions_checked_idx', ['checkedAt'], { where: 'refresh_token IS NOT NULL' })
@Check('console_sessions_holder_check', 'num_nonnulls(api_key_id, user_id) = 1')
export class ConsoleSession {
  /** SHA-256 of the cookie or the code. */
  @PrimaryColumn('bytea', { name: 'token_hash' }) tokenHash!: Buffer;
  @Column('uuid', { name: 'api_key_id', nullable: true }) apiKeyId!: string | null;
  @Column('boolean', { name: 'is_code' }) isCode!: boolean;
  @Index('console_sessions_expires_idx')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
  @Column('uuid', { name: 'user_id', nullable: true }) userId!: string | null;
  /** Of a person: the provider, and what it calls the session. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) issuer!: string | null;
  @Column({ type: 'text', nullable: true, collation: 'C' }) sid!: string | null;
  /** Ends the session at the provider. Encrypted with the token of this session. */
  @Column('text', { name: 'id_token', nullable: true }) idToken!: string | null;
  /** Reads the groups again. Encrypted with the secret of the client, without which the provider does not take it. */
  @Column('text', { name: 'refresh_token', nullable: true }) refreshToken!: string | null;
  /** When the groups were last read. */
  @Column('timestamptz', { name: 'checked_at', nullable: true }) checkedAt!: Date | null;
}
