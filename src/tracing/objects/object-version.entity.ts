import { Check, Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const OBJECTS = changeKind('objects');

/**
 * A published version of an object or op. Deleted versions keep their row and their index. For each name, at most one
 * live version has a digest, and at most one is the latest. The unique indexes guarantee this under concurrency.
 */
@ProjectTable('object_versions', { rows: 'data', counted: { bytes: 'size_bytes' } })
@Check('object_versions_latest_check', 'NOT is_latest OR deleted_at IS NULL')
@Index('object_versions_latest_idx', ['projectId', 'objectId'], {
  unique: true,
  where: 'is_latest',
})
@Index('object_versions_live_idx', ['projectId', 'objectId', 'digest'], {
  unique: true,
  where: 'deleted_at IS NULL',
})
@Index('object_versions_created_idx', ['projectId', 'createdAt', 'versionIndex', 'objectId'], {
  where: 'deleted_at IS NULL',
})
@Index(
  'object_versions_latest_created_idx',
  ['projectId', 'createdAt', 'versionIndex', 'objectId'],
  { where: 'is_latest' },
)
export class ObjectVersion {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'object_id', collation: 'C' }) objectId!: string;
  /** Starts at 0 and has no gaps; deleted versions count. */
  @PrimaryColumn({ type: 'int', name: 'version_index' }) versionIndex!: number;
  @Column({ type: 'text', collation: 'C' }) digest!: string;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'deleted_at', nullable: true }) deletedAt!: Date | null;
  @Column('boolean', { name: 'is_latest' }) isLatest!: boolean;
  /** `object` or `op`. */
  @Column({ type: 'text', collation: 'C' }) kind!: string;
  @Column({ type: 'text', name: 'base_object_class', nullable: true, collation: 'C' })
  baseObjectClass!: string | null;
  @Column({ type: 'text', name: 'leaf_object_class', nullable: true, collation: 'C' })
  leafObjectClass!: string | null;
  @Column({ type: 'text', name: 'user_id', nullable: true, collation: 'C' }) userId!: string | null;
  /** `octet_length` of the text of `val`, stored so that its size is known without reading the value. */
  @Column('int', { name: 'size_bytes' }) sizeBytes!: number;
  /** The text as it was sent, of type `json`. No JSON function of PostgreSQL may be used on it. */
  @Column('json') val!: unknown;
}
