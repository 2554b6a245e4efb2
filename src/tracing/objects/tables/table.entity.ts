import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * The row digests of a table in order, 43 ASCII characters each, as one value. PostgreSQL stores it in pieces and
 * without compression, so a page is a slice that is read as fast at the end as at the start (docs/adr/0021-tables.md).
 */
@ProjectTable('tables', { rows: 'data', counted: { bytes: 'octet_length(row_digests)' } })
export class Table {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Hexadecimal SHA-256 of `rowDigests`. */
  @PrimaryColumn('text', { collation: 'C' }) digest!: string;
  @Column('bytea', { name: 'row_digests' }) rowDigests!: Buffer;
}
