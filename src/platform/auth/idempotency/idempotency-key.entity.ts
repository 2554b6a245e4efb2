import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../database/project-table.js';

/** The first answer to a write that carried `Idempotency-Key`, kept for 24 hours. */
@ProjectTable('idempotency_keys', { rows: 'data', counted: null })
@Index('idempotency_keys_created_idx', ['createdAt'])
export class IdempotencyKey {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'api_key_id' }) apiKeyId!: string;
  @PrimaryColumn('text', { collation: 'C' }) key!: string;
  /** SHA-256 of path and body. */
  @Column('bytea', { name: 'body_hash' }) bodyHash!: Buffer;
  @Column('json', { nullable: true }) response!: unknown;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
