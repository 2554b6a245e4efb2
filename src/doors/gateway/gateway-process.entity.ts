import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A process that passes requests of a project on, and says so again and again. Of one that has ended, the calls are ended by others. */
@ProjectTable('gateway_processes', { rows: 'data', counted: null })
export class GatewayProcess {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'process_id' }) processId!: string;
  /** By its own clock: no call of it has started before. */
  @Column('timestamptz', { name: 'began_at' }) beganAt!: Date;
  @Column('timestamptz', { name: 'seen_at' }) seenAt!: Date;
}
