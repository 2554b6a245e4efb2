import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * A span that is not stored, with the id of its parent. Calls below it become children of that parent
 * (docs/adr/0139-coding-agents.md). Rows are kept for a day.
 */
@ProjectTable('folded_spans', { rows: 'data', counted: null })
@Index('folded_spans_folded_idx', ['foldedAt'])
export class FoldedSpan {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column({ type: 'text', name: 'parent_id', nullable: true, collation: 'C' }) parentId!:
    string | null;
  @Column('timestamptz', { name: 'folded_at', default: () => 'now()' }) foldedAt!: Date;
}
