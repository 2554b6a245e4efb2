import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const ANNOTATION = changeKind('annotation');

/**
 * A list of calls for people to judge. Deleting it is soft: its items remain, but no request reads them. Adding, moving
 * or removing items locks the row of their queue first, so that its counts match the items.
 */
@ProjectTable('annotation_queues', { rows: 'data', counted: {} })
@Index('annotation_queues_created_idx', ['projectId', 'createdAt', 'id'], {
  where: 'deleted_at IS NULL',
})
export class AnnotationQueue {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column({ type: 'text', collation: 'C' }) name!: string;
  @Column({ type: 'text', collation: 'C' }) description!: string;
  /** Refs of the objects that define what annotators fill in. */
  @Column('json', { name: 'scorer_refs' }) scorerRefs!: string[];
  @Column('int', { name: 'total_items', default: 0 }) totalItems!: number;
  /** Items that an annotator has completed or skipped. */
  @Column('int', { name: 'completed_items', default: 0 }) completedItems!: number;
  @Column({ type: 'text', name: 'created_by', collation: 'C' }) createdBy!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
  @Column('timestamptz', { name: 'deleted_at', nullable: true }) deletedAt!: Date | null;
}
