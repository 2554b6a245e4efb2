import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const MODELS = changeKind('models');

@ProjectTable('models', { rows: 'data', counted: {} })
@Index('models_id_idx', ['id'])
@Index('models_name_idx', ['projectId', 'name'], { unique: true, where: 'deleted_at IS NULL' })
export class Model {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column({ type: 'text', collation: 'C' }) name!: string;
  @Column({ type: 'text', name: 'base_model', collation: 'C' }) baseModel!: string;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'deleted_at', nullable: true }) deletedAt!: Date | null;
}
