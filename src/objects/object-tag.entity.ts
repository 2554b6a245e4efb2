import { Entity, Index, PrimaryColumn } from 'typeorm';

const KEY = { primaryKeyConstraintName: 'object_tags_pkey' };

/** A tag of a live version. For the migration check only. */
@Entity('object_tags')
@Index('object_tags_tag_idx', ['projectId', 'tag'])
export class ObjectTag {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C', ...KEY }) projectId!: string;
  @PrimaryColumn('text', { name: 'object_id', collation: 'C', ...KEY }) objectId!: string;
  @PrimaryColumn({ type: 'int', name: 'version_index', ...KEY }) versionIndex!: number;
  @PrimaryColumn('text', { collation: 'C', ...KEY }) tag!: string;
}
