import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const CALLS = changeKind('calls');

/** The calls that thread statistics count: docs/adr/0030-thread-statistics.md. */
const IS_TURN = `id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`;

/** Calls whose usage an older reader made, or none: `USAGE_READER`. */
const IS_UNREAD = `has_unread_usage OR usage IS NOT NULL AND (usage -> 0 ->> 'reader') IS DISTINCT FROM '1'`;

/** Calls of evaluations and the playground. */
const IS_OTHER = `source <> 'production'`;

/** Log records that wait for their span: docs/adr/0059-messages-in-logs.md. */
const IS_AWAITED = `op_name IS NULL AND ended_at IS NULL AND display_name IS NULL AND logged_at IS NOT NULL`;

/**
 * A traced operation run. Starts and ends arrive in any order, so that a row may hold an end alone: reads show it once
 * `op_name` is there. Free-form JSON is `json`, not `jsonb`: the text as it was sent.
 */
@ProjectTable('calls', { rows: 'data', counted: null })
@Index('calls_started_idx', ['projectId', 'startedAt', 'id'])
@Index('calls_trace_idx', ['projectId', 'traceId'])
@Index('calls_parent_idx', ['projectId', 'parentId'], { where: 'parent_id IS NOT NULL' })
@Index('calls_turns_idx', ['projectId', 'threadId', 'startedAt', 'endedAt', 'id'], {
  where: IS_TURN,
})
@Index('calls_turns_started_idx', { synchronize: false })
@Index('calls_op_idx', ['projectId', 'opName'])
@Index('calls_user_idx', ['projectId', 'userId'])
@Index('calls_thread_idx', { synchronize: false })
@Index('calls_turn_idx', { synchronize: false })
@Index('calls_failed_idx', ['projectId', 'startedAt', 'id'], {
  where: 'exception IS NOT NULL OR has_descendant_error',
})
@Index('calls_running_idx', ['projectId', 'startedAt'], { where: 'ended_at IS NULL' })
@Index('calls_root_latency_idx', { synchronize: false })
@Index('calls_roots_idx', { synchronize: false })
@Index('calls_response_idx', ['projectId', 'responseId', 'startedAt', 'id'], {
  where: 'response_id IS NOT NULL',
})
@Index('calls_spans_idx', ['projectId', 'startedAt', 'id'], { where: 'operation IS NOT NULL' })
@Index('calls_agent_idx', ['projectId', 'agentName', 'startedAt', 'id'], {
  where: 'agent_name IS NOT NULL',
})
@Index('calls_linked_idx', ['projectId', 'linkedCallId'], { where: 'linked_call_id IS NOT NULL' })
@Index('calls_logged_idx', ['projectId', 'loggedAt', 'id'], { where: IS_AWAITED })
@Index('calls_startless_idx', ['loggedAt', 'projectId', 'id'], { where: 'op_name IS NULL' })
@Index('calls_named_idx', { synchronize: false })
@Index('calls_orphans_idx', ['projectId', 'parentId'], { where: 'is_orphan' })
@Index('calls_source_idx', ['projectId', 'startedAt', 'id'], { where: IS_OTHER })
@Index('calls_unread_usage_idx', ['projectId', 'startedAt', 'id'], { where: IS_UNREAD })
export class Call {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
  @Column('timestamptz', { name: 'started_at', nullable: true }) startedAt!: Date | null;
  @Column('timestamptz', { name: 'ended_at', nullable: true }) endedAt!: Date | null;
  @Column('timestamptz', { name: 'deleted_at', nullable: true }) deletedAt!: Date | null;
  @Column('int', { name: 'run_step', nullable: true }) runStep!: number | null;
  @Column('int', { name: 'run_step_end', nullable: true }) runStepEnd!: number | null;
  /** True when a free-form value holds `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse. */
  @Column('boolean', { name: 'is_opaque', default: false }) isOpaque!: boolean;
  /** It names a parent that was not here when it was stored, or that went: `isRoot` of `src/tracing/visible-calls.ts`. */
  @Column('boolean', { name: 'is_orphan', default: false }) isOrphan!: boolean;
  /** `summary.status_counts.error > 0`, read when the end was stored. */
  @Column('boolean', { name: 'has_descendant_error', default: false }) hasDescendantError!: boolean;
  /** Null as long as only the end has arrived. */
  @Column({ type: 'text', name: 'op_name', nullable: true, collation: 'C' }) opName!: string | null;
  @Column({ type: 'text', name: 'display_name', nullable: true, collation: 'C' }) displayName!:
    string | null;
  /** `/call/update` has set the display name: no start, which may be one that was sent again, sets it anymore. */
  @Column('boolean', { name: 'is_renamed', default: false }) isRenamed!: boolean;
  @Column({ type: 'text', name: 'trace_id', nullable: true, collation: 'C' }) traceId!:
    string | null;
  @Column({ type: 'text', name: 'parent_id', nullable: true, collation: 'C' }) parentId!:
    string | null;
  @Column({ type: 'text', name: 'thread_id', nullable: true, collation: 'C' }) threadId!:
    string | null;
  @Column({ type: 'text', name: 'turn_id', nullable: true, collation: 'C' }) turnId!: string | null;
  /**
   * Null where the client says which calls are turns, as in spans of older builds. Else the id of the call below from which this one has its thread; empty where it has its own,
   * or none: `turnChanges`.
   */
  @Column({ type: 'text', name: 'thread_source', nullable: true, collation: 'C' }) threadSource!:
    string | null;
  @Column({ type: 'text', name: 'user_id', nullable: true, collation: 'C' }) userId!: string | null;
  @Column({ type: 'text', name: 'run_id', nullable: true, collation: 'C' }) runId!: string | null;
  @Column({ type: 'text', nullable: true, collation: 'C' }) exception!: string | null;
  @Column('json', { nullable: true }) attributes!: unknown;
  @Column('json', { nullable: true }) inputs!: unknown;
  @Column('json', { nullable: true }) output!: unknown;
  @Column('json', { nullable: true }) summary!: unknown;
  @Column('json', { name: 'otel_dump', nullable: true }) otelDump!: unknown;
  /** Messages that came in log records; then what the span itself says is in the columns behind. */
  @Column('jsonb', { nullable: true }) logged!: unknown;
  /** The provider's id of the response that the call tells of, read when the end was stored. */
  @Column({ type: 'text', name: 'response_id', nullable: true, collation: 'C' }) responseId!:
    string | null;
  /** What a span of an agent does, such as `chat`; empty where it does not say. Null of what is no such span: docs/adr/0135-agents.md. */
  @Column({ type: 'text', nullable: true, collation: 'C' }) operation!: string | null;
  @Column({ type: 'text', name: 'agent_name', nullable: true, collation: 'C' }) agentName!:
    string | null;
  @Column({ type: 'text', name: 'agent_version', nullable: true, collation: 'C' }) agentVersion!:
    string | null;
  /** The call of another trace in which the span ran. */
  @Column({ type: 'text', name: 'linked_call_id', nullable: true, collation: 'C' }) linkedCallId!:
    string | null;
  /** When the last of them came that waited for the span; or when a call without a start was noticed, which waits for it. */
  @Column('timestamptz', { name: 'logged_at', nullable: true }) loggedAt!: Date | null;
  @Column('json', { name: 'own_inputs', nullable: true }) ownInputs!: unknown;
  @Column('json', { name: 'own_output', nullable: true }) ownOutput!: unknown;
  /** What `summary.usage` says of models, read when the end was stored: a list of `StoredUsage`. Null when it says nothing. */
  @Column('json', { nullable: true }) usage!: unknown;
  /** Whether the client counts cached tokens among Anthropic's input tokens, read when the start was stored. */
  @Column('boolean', { name: 'counts_gross', default: false }) countsGross!: boolean;
  /** When the events were made that gave the call its members: docs/adr/0055-langfuse.md. Null of a call without events. */
  @Column('json', { name: 'event_times', nullable: true }) eventTimes!: unknown;
  /** The row is of a build that stored no usage, or of somebody's own SQL: `UnreadUsageFiller` reads its summary and its attributes. */
  @Column('boolean', { name: 'has_unread_usage', default: true }) hasUnreadUsage!: boolean;
  /** Why it was made: `SOURCES`. Its own, or that of the call above it (docs/adr/0140-sources-of-calls.md). */
  @Column({ type: 'text', collation: 'C', default: 'production' }) source!: string;
  /** The source that the call says itself, read when the start was stored. Null if it says none. */
  @Column({ type: 'text', name: 'own_source', nullable: true, collation: 'C' })
  ownSource!: string | null;
}
