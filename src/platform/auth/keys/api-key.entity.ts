import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Role } from '../../roles.js';

/** A credential. Only the hash of its secret is stored. */
@Entity('api_keys')
@Index('api_keys_entity_idx', { synchronize: false })
@Index('api_keys_user_idx', ['userId', 'id'], { where: 'user_id IS NOT NULL' })
@Check('api_keys_role_check', `role IN ('reader', 'writer', 'admin', 'trainer')`)
export class ApiKey {
  @PrimaryColumn('uuid') id!: string;
  /** Stored as `svc_user_id` of the data written with the key. */
  @Column('text', { name: 'user_name' }) userName!: string;
  @Column('text') role!: Role;
  /** `*`, `<entity>/*` or `<entity>/<project>`. */
  @Column('text', { array: true }) scopes!: string[];
  /** SHA-256 of the secret. */
  @Index('api_keys_secret_hash_idx', { unique: true })
  @Column('bytea', { name: 'secret_hash' })
  secretHash!: Buffer;
  /** First characters of the secret, which distinguish keys in a list. */
  @Column('text') hint!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { name: 'revoked_at', nullable: true }) revokedAt!: Date | null;
  /**
   * Id of the person who owns the key. The key may do only what the person and the key both may. Null for a service
   * key.
   */
  @Column('uuid', { name: 'user_id', nullable: true }) userId!: string | null;
  /** Name of the key's creator. Null for keys made before this column existed. */
  @Column('text', { name: 'created_by', nullable: true }) createdBy!: string | null;
}
