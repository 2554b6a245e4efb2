import { Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

@ProjectTable('object_tags', { rows: 'data', counted: null })
@Index('object_tags_tag_idx', ['projectId', 'tag'])
export class ObjectTag {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'object_id', collation: 'C' }) objectId!: string;
  @PrimaryColumn({ type: 'int', name: 'version_index' }) versionIndex!: number;
  @PrimaryColumn('text', { collation: 'C' }) tag!: string;
}
