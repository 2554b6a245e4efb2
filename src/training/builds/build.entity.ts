import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const BUILDS = changeKind('builds');

/** The result of a recipe at one moment. */
@ProjectTable('builds', { rows: 'data', counted: {}, written: 'pg_column_size(written)' })
@Index('builds_created_idx', ['projectId', 'createdAt', 'id'])
export class Build {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column({ type: 'text', name: 'recipe_name', collation: 'C' }) recipeName!: string;
  @Column({ type: 'text', name: 'recipe_digest', collation: 'C' }) recipeDigest!: string;
  /** The recipe as it was published. The object may have been deleted since. */
  @Column('json') recipe!: unknown;
  @Column({ type: 'text', collation: 'C' }) mode!: 'all' | 'new';
  @Column('int', { name: 'builder_version' }) builderVersion!: number;
  /** Time of the snapshot that the build was made from. */
  @Column('timestamptz', { name: 'as_of' }) asOf!: Date;
  /** SHA-256 of the groups, in hex. It stays when the build is erased, as does `manifestDigest`. */
  @Column({ type: 'text', collation: 'C' }) digest!: string;
  @Column({ type: 'text', name: 'manifest_digest', collation: 'C' }) manifestDigest!: string;
  @Column('int', { name: 'num_chunks' }) numChunks!: number;
  @Column('json') counts!: unknown;
  @Column('json') lints!: unknown;
  @Column('json') facts!: unknown;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** Time when the groups were erased, because a call of the build was deleted or purged. */
  @Column('timestamptz', { name: 'erased_at', nullable: true }) erasedAt!: Date | null;
  /**
   * Time when a call of the build was purged. Jobs and checkpoints trained on the build are marked at that time too.
   */
  @Column('timestamptz', { name: 'tainted_at', nullable: true }) taintedAt!: Date | null;
}
