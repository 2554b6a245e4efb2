import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** An alias of an object. It names one live version at a time. */
@ProjectTable('object_aliases', { rows: 'data', counted: null })
@Index('object_aliases_alias_idx', ['projectId', 'alias'])
export class ObjectAlias {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'object_id', collation: 'C' }) objectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) alias!: string;
  @Column('int', { name: 'version_index' }) versionIndex!: number;
}
