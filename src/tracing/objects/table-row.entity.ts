import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A row of tables of a project, stored once however many tables hold it. */
@ProjectTable('table_rows', { rows: 'data', counted: { bytes: 'octet_length(val::text)' } })
export class TableRow {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) digest!: string;
  /** True when `val` holds `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse. */
  @Column('boolean', { name: 'is_opaque' }) isOpaque!: boolean;
  /** The text of the first row that came with this digest. */
  @Column('json') val!: unknown;
}
