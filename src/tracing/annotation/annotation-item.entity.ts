import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';

/** A call in a queue, with a copy of its members at the time it was added. It is deleted with the call. */
@ProjectTable('annotation_queue_items', {
  rows: 'data',
  counted: {},
  written: 'pg_column_size(written)',
})
@Index('annotation_queue_items_call_idx', ['projectId', 'callId', 'queueId'], { unique: true })
@Index('annotation_queue_items_position_idx', ['projectId', 'queueId', 'position'])
@Index('annotation_queue_items_state_idx', ['projectId', 'queueId', 'annotationState', 'position'])
export class AnnotationItem {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column({ type: 'text', name: 'queue_id', collation: 'C' }) queueId!: string;
  /** Starts at 1 and has no gaps. */
  @Column('int') position!: number;
  @Column({ type: 'text', name: 'call_id', collation: 'C' }) callId!: string;
  @Column('timestamptz', { name: 'call_started_at' }) callStartedAt!: Date;
  @Column('timestamptz', { name: 'call_ended_at', nullable: true }) callEndedAt!: Date | null;
  @Column({ type: 'text', name: 'call_op_name', collation: 'C' }) callOpName!: string;
  @Column({ type: 'text', name: 'call_trace_id', collation: 'C' }) callTraceId!: string;
  /** Paths into the call that annotators see. */
  @Column('json', { name: 'display_fields' }) displayFields!: string[];
  /** The furthest state that an annotator has reached, and the first one who reached it. */
  @Column({
    type: 'text',
    name: 'annotation_state',
    default: 'unstarted',
    collation: 'C',
  })
  annotationState!: string;
  @Column({ type: 'text', name: 'annotator_user_id', nullable: true, collation: 'C' })
  annotatorUserId!: string | null;
  @Column({ type: 'text', name: 'created_by', collation: 'C' }) createdBy!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
}
