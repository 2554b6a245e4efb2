import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * Trials of a finished evaluation as of the last refresh. They are exact unless `trial_marks` names the evaluation or
 * one of its trials. Each column holds one or more arrays with one value per trial, so a request reads only the columns
 * that it needs.
 */
@ProjectTable('kept_trials', { rows: 'derived' })
export class KeptTrials {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'run_id', collation: 'C' }) runId!: string;
  /** Starts at 0. `chunkOf` computes it from a trial's id. */
  @PrimaryColumn('int') chunk!: number;
  @Column('int') chunks!: number;
  /** Ids and row digests. Null in the only chunk of a run that is too large to be kept. */
  @Column('json', { nullable: true }) ids!: string[] | null;
  @Column('json', { nullable: true }) digests!: string[] | null;
  /** Starts in seconds, latencies and tokens. */
  @Column('json', { nullable: true }) numbers!: unknown[][] | null;
  /** Scores of the trials, and scores that only the scorers' calls contain. Both without texts. */
  @Column('json', { nullable: true }) scores!: unknown[][] | null;
  /** `scores` including texts. Null when they are too large. */
  @Column('json', { name: 'full_scores', nullable: true }) fullScores!: unknown[][] | null;
  /** Usage of predictions and of scorers. */
  @Column('json', { nullable: true }) spent!: unknown[][] | null;
}
