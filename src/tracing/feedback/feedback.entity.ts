import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const FEEDBACK = changeKind('feedback');

/** What somebody says about the item behind a ref. The item need not exist. */
@ProjectTable('feedback', {
  rows: 'data',
  counted: { bytes: 'octet_length(payload::text)', isEdited: true },
})
@Index('feedback_ref_idx', ['projectId', 'ref'])
@Index('feedback_created_idx', ['projectId', 'createdAt', 'id'])
export class Feedback {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  /** True when the payload holds `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse. */
  @Column('boolean', { name: 'is_opaque', default: false }) isOpaque!: boolean;
  @Column({ type: 'text', name: 'feedback_type', collation: 'C' }) feedbackType!: string;
  @Column({ type: 'text', collation: 'C' }) ref!: string;
  @Column({ type: 'text', name: 'annotation_ref', nullable: true, collation: 'C' }) annotationRef!:
    string | null;
  @Column({ type: 'text', name: 'runnable_ref', nullable: true, collation: 'C' }) runnableRef!:
    string | null;
  @Column({ type: 'text', name: 'call_ref', nullable: true, collation: 'C' }) callRef!:
    string | null;
  @Column({ type: 'text', name: 'trigger_ref', nullable: true, collation: 'C' }) triggerRef!:
    string | null;
  /** The annotation queue in which it was given. */
  @Column({ type: 'text', name: 'queue_id', nullable: true, collation: 'C' }) queueId!:
    string | null;
  @Column({ type: 'text', nullable: true, collation: 'C' }) creator!: string | null;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  /** As sent; the payload of a reaction has the server's members behind the sent ones. */
  @Column('json') payload!: unknown;
}
