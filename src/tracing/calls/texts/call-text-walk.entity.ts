import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * A project with calls that were stored before texts were indexed: those that started before `before` are not indexed
 * yet. The row is deleted when all are.
 */
@ProjectTable('call_text_walks', { rows: 'data', counted: null })
export class CallTextWalk {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @Column('timestamptz') before!: Date;
}
