import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** Says which calls changed since the trials of evaluations were kept. Only ever inserted and deleted. */
@ProjectTable('trial_marks', { rows: 'derived' })
export class TrialMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  /** Calls that may be trials: those that changed and look so, and the parents of all that changed. */
  @Column({ type: 'text', name: 'call_ids', array: true, collation: 'C' }) callIds!: string[];
  /** Calls that may be evaluations: those that changed and look so, and the parents of what looks like a trial. */
  @Column({ type: 'text', name: 'run_ids', array: true, collation: 'C' }) runIds!: string[];
}
