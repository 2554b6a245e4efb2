import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A row of a file that is being imported. It becomes a row of a table when the whole file is good. */
@ProjectTable('dataset_import_rows', {
  rows: 'data',
  counted: null,
  written: 'octet_length(val::text)',
  upload: 'upload_id',
})
export class DatasetImportRow {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'upload_id' }) uploadId!: string;
  @PrimaryColumn('text', { collation: 'C' }) digest!: string;
  /** Position in the file. Of rows with equal content, the first is stored. */
  @Column('int') seq!: number;
  @Column('boolean', { name: 'is_opaque' }) isOpaque!: boolean;
  @Column('json') val!: unknown;
}
