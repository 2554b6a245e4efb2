import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/**
 * Trials of a finished evaluation as of the last refresh: exact, unless `trial_marks` names the evaluation or one of its trials.
 * Each column holds one array, or some, with a value for each trial: what is not asked for is not read.
 */
@ProjectTable('kept_trials', { rows: 'derived' })
export class KeptTrials {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'run_id', collation: 'C' }) runId!: string;
  /** From 0; the id of a trial says in which chunk it is. */
  @PrimaryColumn('int') chunk!: number;
  /** Of the run. */
  @Column('int') chunks!: number;
  /** Ids and digests of rows. Null in the only chunk of a run that is too large to be kept. */
  @Column('json', { nullable: true }) ids!: string[] | null;
  @Column('json', { nullable: true }) digests!: string[] | null;
  /** Starts in seconds, latencies, tokens. */
  @Column('json', { nullable: true }) numbers!: unknown[][] | null;
  /** What trials tell of scores, and what scorers gave beside it, both without texts. */
  @Column('json', { nullable: true }) scores!: unknown[][] | null;
  /** The same with texts. Null where they are large. */
  @Column('json', { name: 'full_scores', nullable: true }) fullScores!: unknown[][] | null;
  /** What predictions and scorers spent. */
  @Column('json', { nullable: true }) spent!: unknown[][] | null;
}
