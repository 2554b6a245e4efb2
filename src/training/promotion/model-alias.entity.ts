import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** An alias of a model, and the step that it names now. */
@ProjectTable('model_aliases', { rows: 'data', counted: null })
export class ModelAlias {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('text', { collation: 'C' }) alias!: string;
  @Column('int') step!: number;
  /** Number of the move that brought the alias to this step. */
  @Column('int') seq!: number;
}
