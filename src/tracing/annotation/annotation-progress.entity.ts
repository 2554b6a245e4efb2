import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** The state of one item for one annotator. Without a row, the annotator has not begun. */
@ProjectTable('annotation_progress', {
  rows: 'data',
  counted: null,
  written: 'pg_column_size(written)',
})
export class AnnotationProgress {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'item_id', collation: 'C' }) itemId!: string;
  @PrimaryColumn('text', { name: 'user_id', collation: 'C' }) userId!: string;
  @Column({ type: 'text', collation: 'C' }) state!: string;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
}
