import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A session of an API key or a person in a browser, or the code of a login link, which becomes a session when it is
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
  /** The provider of a person's session, and in `sid` the provider's id of that session. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) issuer!: string | null;
  @Column({ type: 'text', nullable: true, collation: 'C' }) sid!: string | null;
  /** ID token that ends the session at the provider. Encrypted with the token of this session. */
  @Column('text', { name: 'id_token', nullable: true }) idToken!: string | null;
  /**
   * Token that reads the groups again. Encrypted with the client's secret, without which the provider rejects the
   * token.
   */
  @Column('text', { name: 'refresh_token', nullable: true }) refreshToken!: string | null;
  @Column('timestamptz', { name: 'checked_at', nullable: true }) checkedAt!: Date | null;
}
