import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const BUILDS = changeKind('builds');

/** What a recipe made of the data at one moment. */
@ProjectTable('builds', { rows: 'data', counted: {} })
@Index('builds_created_idx', ['projectId', 'createdAt', 'id'])
export class Build {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column({ type: 'text', name: 'recipe_name', collation: 'C' }) recipeName!: string;
  @Column({ type: 'text', name: 'recipe_digest', collation: 'C' }) recipeDigest!: string;
  /** As it was published: the object may be deleted since. */
  @Column('json') recipe!: unknown;
  @Column({ type: 'text', collation: 'C' }) mode!: 'all' | 'new';
  @Column('int', { name: 'builder_version' }) builderVersion!: number;
  /** The moment of its snapshot. */
  @Column('timestamptz', { name: 'as_of' }) asOf!: Date;
  /** SHA-256 of its groups, and of what went in, in hex. They stay when it is erased. */
  @Column({ type: 'text', collation: 'C' }) digest!: string;
  @Column({ type: 'text', name: 'manifest_digest', collation: 'C' }) manifestDigest!: string;
  @Column('int', { name: 'num_chunks' }) numChunks!: number;
  @Column('json') counts!: unknown;
  @Column('json') lints!: unknown;
  @Column('json') facts!: unknown;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** When its bytes were erased, because a call that went in was. */
  @Column('timestamptz', { name: 'erased_at', nullable: true }) erasedAt!: Date | null;
  /** When a call that went in was purged: what was trained on the build is marked then. */
  @Column('timestamptz', { name: 'tainted_at', nullable: true }) taintedAt!: Date | null;
}
