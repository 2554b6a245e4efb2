import { Column, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A checkpoint that a provider serves until `expiresAt`, as its server reported. Expired rows have no effect. */
@ProjectTable('served_checkpoints', { rows: 'data', counted: null })
export class ServedCheckpoint {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('uuid', { name: 'model_id' }) modelId!: string;
  @PrimaryColumn('int') step!: number;
  /** One of `GATEWAY_PROVIDERS`. */
  @PrimaryColumn('text', { collation: 'C' }) provider!: string;
  /** Name of the checkpoint at the provider. */
  @Column({ type: 'text', name: 'upstream_model', collation: 'C' }) upstreamModel!: string;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
}
