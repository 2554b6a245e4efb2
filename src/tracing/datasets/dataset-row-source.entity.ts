import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/**
 * A call from which a row of a dataset was built. It is stored beside the row: rows with equal content are one row,
 * whichever calls they come from.
 */
@ProjectTable('dataset_row_sources', {
  rows: 'data',
  counted: {},
  written: 'pg_column_size(written)',
})
@Index('dataset_row_sources_call_idx', ['projectId', 'callId'])
@Index('dataset_row_sources_erased_idx', ['projectId', 'objectId', 'rowDigest', 'callId'], {
  where: 'erased_at IS NOT NULL AND removed_at IS NULL',
})
export class DatasetRowSource {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** The name of the dataset. */
  @PrimaryColumn('text', { name: 'object_id', collation: 'C' }) objectId!: string;
  @PrimaryColumn('text', { name: 'row_digest', collation: 'C' }) rowDigest!: string;
  @PrimaryColumn('text', { name: 'call_id', collation: 'C' }) callId!: string;
  @Column({ type: 'text', name: 'trace_id', collation: 'C' }) traceId!: string;
  @Column({ type: 'text', name: 'thread_id', nullable: true, collation: 'C' }) threadId!:
    string | null;
  @Column('timestamptz', { name: 'added_at', default: () => 'now()' }) addedAt!: Date;
  @Column({ type: 'text', name: 'added_by', collation: 'C' }) addedBy!: string;
  /** When the row was removed from the dataset. Older versions still have it. */
  @Column('timestamptz', { name: 'removed_at', nullable: true }) removedAt!: Date | null;
  /** When the call was deleted or erased, or lost its payload. */
  @Column('timestamptz', { name: 'erased_at', nullable: true }) erasedAt!: Date | null;
}
