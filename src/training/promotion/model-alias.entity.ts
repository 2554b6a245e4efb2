import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** Where an alias of a model stands now: the checkpoint that is used under its name. */
@ProjectTable('model_aliases', { rows: 'data', counted: null })
export class ModelAlias {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('text', { collation: 'C' }) alias!: string;
  @Column('int') step!: number;
  /** The move in its history that brought it here. */
  @Column('int') seq!: number;
}
