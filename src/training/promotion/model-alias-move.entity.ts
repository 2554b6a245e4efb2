import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A move of an alias. Moves are numbered without gaps, and each begins at the step where the last one ended. */
@ProjectTable('model_alias_moves', { rows: 'data', counted: null })
export class ModelAliasMove {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('text', { collation: 'C' }) alias!: string;
  @PrimaryColumn('int') seq!: number;
  /** Null when the move retired the alias. */
  @Column('int', { nullable: true }) step!: number | null;
  /** Null when the alias did not exist before. */
  @Column('int', { name: 'previous_step', nullable: true }) previousStep!: number | null;
  @Column('timestamptz', { name: 'moved_at', default: () => 'now()' }) movedAt!: Date;
  @Column({ type: 'text', name: 'moved_by', collation: 'C' }) movedBy!: string;
  @Column('boolean', { name: 'by_hand' }) byHand!: boolean;
  /** Result of the gate; null for a move by hand. */
  @Column('json', { nullable: true }) gate!: object | null;
  /** Reason why the alias was retired. */
  @Column({ type: 'text', collation: 'C', nullable: true }) reason!: string | null;
}
