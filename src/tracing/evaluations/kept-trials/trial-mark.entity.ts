import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** Lists calls that changed since the trials of evaluations were kept. Rows are only inserted and deleted. */
@ProjectTable('trial_marks', { rows: 'derived' })
export class TrialMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  /** Calls that may be trials: changed calls with the op of a trial, and the parents of all changed calls. */
  @Column({ type: 'text', name: 'call_ids', array: true, collation: 'C' }) callIds!: string[];
  /** Calls that may be evaluations: changed calls with the op of an evaluation, and the parents of changed trials. */
  @Column({ type: 'text', name: 'run_ids', array: true, collation: 'C' }) runIds!: string[];
}
