import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** Names calls of a slot of five minutes that were written or erased since their texts were indexed. */
@ProjectTable('call_text_marks', { rows: 'derived' })
export class CallTextMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  @Column('timestamptz') slot!: Date;
  @Column('text', { name: 'call_ids', array: true }) callIds!: string[];
  /** True if the calls have fewer bytes than before. What they said before leaves the index at once. */
  @Column('boolean', { name: 'is_erasing' }) isErasing!: boolean;
}
