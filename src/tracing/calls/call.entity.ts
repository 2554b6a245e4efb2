import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const CALLS = changeKind('calls');

/** Matches calls that thread statistics count: docs/adr/0030-thread-statistics.md. */
const IS_TURN = `id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`;

/** Matches calls whose usage was not read, or was read by an older reader: `USAGE_READER`. */
const IS_UNREAD = `has_unread_usage OR usage IS NOT NULL AND (usage -> 0 ->> 'reader') IS DISTINCT FROM '1'`;

const IS_OTHER = `source <> 'production'`;

/** Matches log records that wait for their span: docs/adr/0059-messages-in-logs.md. */
const IS_AWAITED = `op_name IS NULL AND ended_at IS NULL AND display_name IS NULL AND logged_at IS NOT NULL`;

/**
 * A call. Starts and ends arrive in any order, so a row may hold only an end; reads skip it until `op_name` is set.
 * Free-form JSON is `json`, not `jsonb`, to keep the text as it was sent.
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
  /**
   * True if a free-form value contains `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse.
   */
  @Column('boolean', { name: 'is_opaque', default: false }) isOpaque!: boolean;
  /**
   * True if the call names a parent that was not visible when the call was stored, or was deleted later: `isRoot` of
   * `src/tracing/visible-calls.ts`.
   */
  @Column('boolean', { name: 'is_orphan', default: false }) isOrphan!: boolean;
  /** `summary.status_counts.error > 0`, read when the end was stored. */
  @Column('boolean', { name: 'has_descendant_error', default: false }) hasDescendantError!: boolean;
  /** Null until the start arrives. */
  @Column({ type: 'text', name: 'op_name', nullable: true, collation: 'C' }) opName!: string | null;
  @Column({ type: 'text', name: 'display_name', nullable: true, collation: 'C' }) displayName!:
    string | null;
  /** True if `/call/update` has set the display name. A start, which may be sent again, then no longer changes it. */
  @Column('boolean', { name: 'is_renamed', default: false }) isRenamed!: boolean;
  @Column({ type: 'text', name: 'trace_id', nullable: true, collation: 'C' }) traceId!:
    string | null;
  @Column({ type: 'text', name: 'parent_id', nullable: true, collation: 'C' }) parentId!:
    string | null;
  @Column({ type: 'text', name: 'thread_id', nullable: true, collation: 'C' }) threadId!:
    string | null;
  @Column({ type: 'text', name: 'turn_id', nullable: true, collation: 'C' }) turnId!: string | null;
  /**
   * The call below from which this call takes its thread. Empty if the call has its own thread, or none. Null if the
   * client decides which calls are turns, and in spans of older builds. See `turnChanges`.
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
  /** Messages from log records. If set, `own_inputs` and `own_output` hold the values of the span itself. */
  @Column('jsonb', { nullable: true }) logged!: unknown;
  /** The provider's id of the response that the call reports, read when the end was stored. */
  @Column({ type: 'text', name: 'response_id', nullable: true, collation: 'C' }) responseId!:
    string | null;
  /**
   * The operation of an agent's span, such as `chat`; empty if the span does not state it. Null for other calls:
   * docs/adr/0135-agents.md.
   */
  @Column({ type: 'text', nullable: true, collation: 'C' }) operation!: string | null;
  @Column({ type: 'text', name: 'agent_name', nullable: true, collation: 'C' }) agentName!:
    string | null;
  @Column({ type: 'text', name: 'agent_version', nullable: true, collation: 'C' }) agentVersion!:
    string | null;
  /** The call of another trace in which the span ran. */
  @Column({ type: 'text', name: 'linked_call_id', nullable: true, collation: 'C' }) linkedCallId!:
    string | null;
  /**
   * Time at which the last log record arrived that waits for the span. For other calls without a start: time at which
   * they were noticed.
   */
  @Column('timestamptz', { name: 'logged_at', nullable: true }) loggedAt!: Date | null;
  @Column('json', { name: 'own_inputs', nullable: true }) ownInputs!: unknown;
  @Column('json', { name: 'own_output', nullable: true }) ownOutput!: unknown;
  /**
   * The usage of models in `summary.usage`, read when the end was stored: a list of `StoredUsage`. Null if it has none.
   */
  @Column('json', { nullable: true }) usage!: unknown;
  /** True if the client counts cached tokens among Anthropic's input tokens. Read when the start was stored. */
  @Column('boolean', { name: 'counts_gross', default: false }) countsGross!: boolean;
  /**
   * Times of the events from which the members of the call come: docs/adr/0055-langfuse.md. Null for a call without
   * events.
   */
  @Column('json', { name: 'event_times', nullable: true }) eventTimes!: unknown;
  /**
   * True for a row of a build that stored no usage, or of a user's own SQL. `UnreadUsageFiller` reads its summary and
   * its attributes.
   */
  @Column('boolean', { name: 'has_unread_usage', default: true }) hasUnreadUsage!: boolean;
  /**
   * The part of the work that made the call: `SOURCES`. Its own source, or that of the call above it
   * (docs/adr/0140-sources-of-calls.md).
   */
  @Column({ type: 'text', collation: 'C', default: 'production' }) source!: string;
  /** The source that the call states itself, read when the start was stored. Null if it states none. */
  @Column({ type: 'text', name: 'own_source', nullable: true, collation: 'C' })
  ownSource!: string | null;
}
