import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** A span that is not stored, and the one above it: calls below it hang there (docs/adr/0139-coding-agents.md). Kept for a day. */
@ProjectTable('folded_spans', { rows: 'data', counted: null })
@Index('folded_spans_folded_idx', ['foldedAt'])
export class FoldedSpan {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column({ type: 'text', name: 'parent_id', nullable: true, collation: 'C' }) parentId!:
    string | null;
  @Column('timestamptz', { name: 'folded_at', default: () => 'now()' }) foldedAt!: Date;
}
