import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** The days for which a project keeps calls, payloads and feedback; null for ever. */
@ProjectTable('retention_policies', { rows: 'data', counted: null })
export class RetentionPolicy {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  /** Days for which whole calls are kept. */
  @Column('int', { name: 'calls_days', nullable: true }) callsDays!: number | null;
  /** Days for which payloads are kept. */
  @Column('int', { name: 'payload_days', nullable: true }) payloadDays!: number | null;
  /** Days for which feedback is kept. */
  @Column('int', { name: 'feedback_days', nullable: true }) feedbackDays!: number | null;
  /** True if the policy is the default of the service, because the project has none of its own. */
  @Column('boolean', { name: 'is_default', default: false }) isDefault!: boolean;
  /** Start and id of the last call that the walk over payloads has examined; null before the first. */
  @Column('json', { name: 'payload_cursor', nullable: true }) payloadCursor!: unknown;
  /** The start of the walk. It restarts every day, for calls that arrived late. */
  @Column('timestamptz', { name: 'walk_started_at', default: () => 'now()' }) walkStartedAt!: Date;
}
