import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** An export by schedule: docs/adr/0141-exports.md. */
@ProjectTable('export_schedules', { rows: 'data', counted: {} })
export class ExportSchedule {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) name!: string;
  /** `calls`, `feedback` or `table`. */
  @Column({ type: 'text', collation: 'C' }) kind!: string;
  /** `parquet` or `jsonl`. */
  @Column({ type: 'text', collation: 'C' }) format!: string;
  /** Length of a window: `hour` or `day`. Null for a table, which has no windows. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) every!: string | null;
  /** The filter, the query and the name of the dataset, as they were sent. */
  @Column('json') request!: unknown;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** Failures since the last success. */
  @Column('int', { default: 0 }) failures!: number;
  @Column({ type: 'text', name: 'last_error', nullable: true, collation: 'C' }) lastError!:
    string | null;
  /** The time from which the schedule is looked at again. */
  @Column('timestamptz', { name: 'retry_at', default: () => 'now()' }) retryAt!: Date;
}
