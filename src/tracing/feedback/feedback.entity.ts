import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const FEEDBACK = changeKind('feedback');

/** Feedback on the item behind a ref. The item need not exist. */
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
  /** True when the payload contains `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse. */
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
  @Column({ type: 'text', name: 'queue_id', nullable: true, collation: 'C' }) queueId!:
    string | null;
  /** Scores by a scorer or a person: tags, ratings from 0 to 1, and reasons, keyed by tag or rating. */
  @Column('json', { name: 'scorer_tags', nullable: true }) scorerTags!: unknown;
  @Column('json', { name: 'scorer_tag_reasons', nullable: true }) scorerTagReasons!: unknown;
  @Column('json', { name: 'scorer_tag_confidences', nullable: true })
  scorerTagConfidences!: unknown;
  @Column('json', { name: 'scorer_ratings', nullable: true }) scorerRatings!: unknown;
  @Column('json', { name: 'scorer_rating_reasons', nullable: true }) scorerRatingReasons!: unknown;
  @Column('json', { name: 'scorer_rating_confidences', nullable: true })
  scorerRatingConfidences!: unknown;
  /** The agent and status of the span that the feedback is about. */
  @Column({ type: 'text', name: 'span_agent_name', nullable: true, collation: 'C' })
  spanAgentName!: string | null;
  @Column({ type: 'text', name: 'span_agent_version', nullable: true, collation: 'C' })
  spanAgentVersion!: string | null;
  @Column({ type: 'text', name: 'span_status_code', nullable: true, collation: 'C' })
  spanStatusCode!: string | null;
  @Column({ type: 'text', name: 'span_conversation_id', nullable: true, collation: 'C' })
  spanConversationId!: string | null;
  @Column({ type: 'text', name: 'span_trace_id', nullable: true, collation: 'C' })
  spanTraceId!: string | null;
  /** The trace of the scorer's own calls. */
  @Column({ type: 'text', name: 'scorer_trace_id', nullable: true, collation: 'C' })
  scorerTraceId!: string | null;
  @Column({ type: 'text', nullable: true, collation: 'C' }) creator!: string | null;
  @Column({ type: 'text', name: 'user_id', collation: 'C' }) userId!: string;
  /** The payload as sent. For a reaction, the server's members follow the sent ones. */
  @Column('json') payload!: unknown;
  /** Times of the events that set the members of a score: docs/adr/0055-langfuse.md. Null for other feedback. */
  @Column('json', { name: 'event_times', nullable: true }) eventTimes!: unknown;
}
