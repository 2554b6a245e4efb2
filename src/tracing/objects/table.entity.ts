import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The digests of a table's rows in order, 43 ASCII characters each, in one value that PostgreSQL stores in pieces and
 * without compression: a page is a slice, read as fast at the end as at the start (docs/adr/0021-tables.md). For the migration check only.
 */
@Entity('tables')
export class Table {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Hex SHA-256 of `rowDigests`. */
  @PrimaryColumn('text', { collation: 'C' }) digest!: string;
  @Column('bytea', { name: 'row_digests' }) rowDigests!: Buffer;
}
