import { PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** Marks a thread whose turns have changed since its statistics were refreshed. Marks are only inserted and deleted. */
@ProjectTable('thread_marks', { rows: 'derived' })
export class ThreadMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'thread_id', collation: 'C' }) threadId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
}
