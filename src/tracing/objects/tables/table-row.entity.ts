import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** A row of a project's tables, stored once however many tables contain it. */
@ProjectTable('table_rows', { rows: 'data', counted: { bytes: 'octet_length(val::text)' } })
export class TableRow {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) digest!: string;
  /** True when `val` contains `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse. */
  @Column('boolean', { name: 'is_opaque' }) isOpaque!: boolean;
  /** The text of the first row that was sent with this digest. */
  @Column('json') val!: unknown;
}
