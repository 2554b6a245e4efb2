import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** The origin and the reward of a trajectory of a build. */
@ProjectTable('build_units', { rows: 'data', counted: null, written: 'pg_column_size(written)' })
@Index('build_units_unit_idx', ['projectId', 'unitId'])
export class BuildUnit {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'build_id' }) buildId!: string;
  @PrimaryColumn('int', { name: 'group_index' }) groupIndex!: number;
  @PrimaryColumn('int', { name: 'trajectory_index' }) trajectoryIndex!: number;
  @Column({ type: 'text', collation: 'C' }) split!: 'train' | 'eval';
  @Column({ type: 'text', name: 'unit_id', collation: 'C' }) unitId!: string;
  @Column({ type: 'text', name: 'call_id', collation: 'C' }) callId!: string;
  @Column('double precision') reward!: number;
}
