import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/**
 * A file of an export by schedule. The row is made before the file and removed after it, also when the schedule or the
 * project is erased first. The row of the manifest is made with the schedule.
 */
@ProjectTable('exported_files', { rows: 'derived' })
@Index('exported_files_manifest_idx', ['projectId', 'schedule'], {
  where: `path = 'manifest.json'`,
})
export class ExportedFile {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) schedule!: string;
  /** Path below the folder of the schedule. */
  @PrimaryColumn('text', { collation: 'C' }) path!: string;
  /** State of the rows and of the schedule that the file shows. Empty while the file may show another state. */
  @Column({ type: 'text', default: '', collation: 'C' }) print!: string;
  @Column('timestamptz', { name: 'window_start', nullable: true }) windowStart!: Date | null;
  @Column('timestamptz', { name: 'window_end', nullable: true }) windowEnd!: Date | null;
  /** Number of rows. There is no file when it is 0. */
  @Column('bigint', { name: 'row_count', default: 0 }) rowCount!: string;
  @Column('bigint', { default: 0 }) bytes!: string;
  @Column({ type: 'text', nullable: true, collation: 'C' }) sha256!: string | null;
  @Column('int', { name: 'schema_version', nullable: true }) schemaVersion!: number | null;
  @Column('timestamptz', { name: 'written_at', nullable: true }) writtenAt!: Date | null;
}
