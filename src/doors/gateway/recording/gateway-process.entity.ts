import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/**
 * A process that relays requests of a project and updates its row regularly. If it stops doing so, other processes end
 * its calls.
 */
@ProjectTable('gateway_processes', { rows: 'data', counted: null })
export class GatewayProcess {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'process_id' }) processId!: string;
  /** Start of the process by its own clock. None of its calls started earlier. */
  @Column('timestamptz', { name: 'began_at' }) beganAt!: Date;
  @Column('timestamptz', { name: 'seen_at' }) seenAt!: Date;
}
