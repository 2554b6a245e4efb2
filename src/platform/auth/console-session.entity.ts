import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Stands for an API key in a browser: a session, or the code of a login link, which becomes one when it is used. */
@Entity('console_sessions')
export class ConsoleSession {
  /** SHA-256 of the cookie or the code. */
  @PrimaryColumn('bytea', { name: 'token_hash' }) tokenHash!: Buffer;
  @Column('uuid', { name: 'api_key_id' }) apiKeyId!: string;
  @Column('boolean', { name: 'is_code' }) isCode!: boolean;
  @Index('console_sessions_expires_idx')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
