import { Column, Index, PrimaryColumn } from 'typeorm';
import { ProjectTable } from '../../platform/database/project-table.js';
import { changeKind } from '../../platform/database/changes.js';

export const CALLS = changeKind('calls');

/** A column of `calls`. Each one is declared only in `CALL_COLUMNS`. */
interface CallColumn {
  type: 'text' | 'timestamptz' | 'int' | 'boolean' | 'json' | 'jsonb';
  isKey?: true;
  /** Value of a row that is inserted without one. A column without a default may be null. */
  default?: string | boolean;
  /**
   * The write that brings the value: a start or an end of a call. Absent if other statements set the column, and for
   * `jsonb`, which `CopyRows` does not write.
   */
  from?: 'start' | 'end';
  /** True if the service computes the value. Otherwise the body of the start or end has it, under the field's name. */
  isComputed?: true;
  /** Columns of one group usually have values in the same writes: `COLUMN_GROUPS` of `calls.upsert.ts`. */
  group?: 'usual' | 'agent' | 'source' | 'event';
  /**
   * If set, the column is a field of answers, queries and orders. An answer has it always, unless `columns` omits it
   * (`default`), or only if `columns` names it.
   */
  returned?: 'always' | 'default' | 'if named';
  /** Key of the field's name in `wire()`. Absent if the field has the name of the column. */
  wire?: 'userId' | 'runId' | 'runStep' | 'runStepEnd';
}

/**
 * The columns of `calls`. Answers have their fields in this order. Starts and ends arrive in any order, so a row may
 * hold only an end; reads skip it until `op_name` is set.
 */
const CALL_COLUMNS = {
  id: { type: 'text', isKey: true, returned: 'always' },
  project_id: { type: 'text', isKey: true, returned: 'always' },
  /** Null until the start arrives. */
  op_name: { type: 'text', from: 'start', group: 'usual', returned: 'always' },
  display_name: { type: 'text', from: 'start', returned: 'default' },
  trace_id: { type: 'text', from: 'start', group: 'usual', returned: 'always' },
  parent_id: { type: 'text', from: 'start', returned: 'default' },
  thread_id: { type: 'text', from: 'start', returned: 'default' },
  turn_id: { type: 'text', from: 'start', returned: 'default' },
  started_at: { type: 'timestamptz', from: 'start', group: 'usual', returned: 'always' },
  ended_at: { type: 'timestamptz', from: 'end', group: 'usual', returned: 'default' },
  exception: { type: 'text', from: 'end', returned: 'default' },
  user_id: {
    type: 'text',
    from: 'start',
    isComputed: true,
    group: 'usual',
    returned: 'default',
    wire: 'userId',
  },
  run_id: { type: 'text', from: 'start', returned: 'default', wire: 'runId' },
  run_step: { type: 'int', from: 'start', returned: 'default', wire: 'runStep' },
  run_step_end: { type: 'int', from: 'end', returned: 'default', wire: 'runStepEnd' },
  deleted_at: { type: 'timestamptz', returned: 'default' },
  /**
   * The operation of an agent's span, such as `chat`; empty if the span does not state it. Null for other calls:
   * docs/adr/0135-agents.md.
   */
  operation: {
    type: 'text',
    from: 'start',
    isComputed: true,
    group: 'agent',
    returned: 'if named',
  },
  /**
   * The part of the work that made the call: `SOURCES`. Its own source, or that of the call above it
   * (docs/adr/0140-sources-of-calls.md).
   */
  source: {
    type: 'text',
    default: 'production',
    from: 'start',
    isComputed: true,
    group: 'source',
    returned: 'if named',
  },
  attributes: { type: 'json', from: 'start', group: 'usual', returned: 'default' },
  inputs: { type: 'json', from: 'start', group: 'usual', returned: 'default' },
  output: { type: 'json', from: 'end', group: 'usual', returned: 'default' },
  summary: { type: 'json', from: 'end', group: 'usual', returned: 'default' },
  otel_dump: { type: 'json', from: 'start' },
  /**
   * True if a free-form value contains `\u0000` or half of a surrogate pair, which PostgreSQL's json functions refuse.
   */
  is_opaque: { type: 'boolean', default: false },
  /**
   * True if the call names a parent that was not visible when the call was stored, or was deleted later: `isRoot` of
   * `src/tracing/visible-calls.ts`.
   */
  is_orphan: { type: 'boolean', default: false, from: 'start', isComputed: true },
  /** `summary.status_counts.error > 0`, read when the end was stored. */
  has_descendant_error: { type: 'boolean', default: false, from: 'end', isComputed: true },
  /** True if `/call/update` has set the display name. A start, which may be sent again, then no longer changes it. */
  is_renamed: { type: 'boolean', default: false },
  /**
   * The call below from which this call takes its thread. Empty if the call has its own thread, or none. Null if the
   * client decides which calls are turns, and in spans of older builds. See `turnChanges`.
   */
  thread_source: { type: 'text', from: 'start', isComputed: true },
  /** Messages from log records. If set, `own_inputs` and `own_output` hold the values of the span itself. */
  logged: { type: 'jsonb' },
  own_inputs: { type: 'json' },
  own_output: { type: 'json' },
  /**
   * Time at which the last log record arrived that waits for the span. For other calls without a start: time at which
   * they were noticed.
   */
  logged_at: { type: 'timestamptz' },
  /** The provider's id of the response that the call reports, read when the end was stored. */
  response_id: { type: 'text', from: 'end', isComputed: true },
  agent_name: { type: 'text', from: 'start', isComputed: true, group: 'agent' },
  agent_version: { type: 'text', from: 'start', isComputed: true, group: 'agent' },
  /** The call of another trace in which the span ran. */
  linked_call_id: { type: 'text', from: 'start', isComputed: true, group: 'agent' },
  /**
   * The usage of models in `summary.usage`, read when the end was stored: a list of `StoredUsage`. Null if it has none.
   */
  usage: { type: 'json', from: 'end', isComputed: true, group: 'usual' },
  /** True if the client counts cached tokens among Anthropic's input tokens. Read when the start was stored. */
  counts_gross: {
    type: 'boolean',
    default: false,
    from: 'start',
    isComputed: true,
    group: 'usual',
  },
  /**
   * True for a row of a build that stored no usage, or of a user's own SQL. `UnreadUsageFiller` reads its summary and
   * its attributes.
   */
  has_unread_usage: { type: 'boolean', default: true },
  /**
   * Times of the events from which the members of the call come: docs/adr/0055-langfuse.md. Null for a call without
   * events.
   */
  event_times: { type: 'json', from: 'start', isComputed: true, group: 'event' },
  /** The source that the call states itself, read when the start was stored. Null if it states none. */
  own_source: { type: 'text', from: 'start', isComputed: true, group: 'source' },
} as const satisfies Readonly<Record<string, CallColumn>>;

export type CallColumnName = keyof typeof CALL_COLUMNS;
/** Names of the columns that are declared with `Facts`. */
export type CallColumnWith<Facts> = {
  [Name in CallColumnName]: (typeof CALL_COLUMNS)[Name] extends Facts ? Name : never;
}[CallColumnName];

export const CALL_COLUMN_LIST = Object.entries<CallColumn>(CALL_COLUMNS).map(([name, column]) => ({
  name: name as CallColumnName,
  ...column,
}));

interface JsonTypes {
  text: string;
  timestamptz: string;
  int: number;
  boolean: boolean;
  json: unknown;
  jsonb: unknown;
}
/** A row of `calls`, as PostgreSQL writes it in JSON. */
export type CallRow = {
  [Name in CallColumnName]:
    | JsonTypes[(typeof CALL_COLUMNS)[Name]['type']]
    | ((typeof CALL_COLUMNS)[Name] extends { isKey: true } | { default: unknown } ? never : null);
};
/** A row whose start is stored. */
export type StartedCall = CallRow & { [Name in CallColumnWith<{ returned: 'always' }>]: string };

/** Matches calls that thread statistics count: docs/adr/0030-thread-statistics.md. */
const IS_TURN = `id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL`;

/** Matches calls whose usage was not read, or was read by an older reader: `USAGE_READER`. */
const IS_UNREAD = `has_unread_usage OR usage IS NOT NULL AND (usage -> 0 ->> 'reader') IS DISTINCT FROM '1'`;

const IS_OTHER = `source <> 'production'`;

/** Matches log records that wait for their span: docs/adr/0059-messages-in-logs.md. */
const IS_AWAITED = `op_name IS NULL AND ended_at IS NULL AND display_name IS NULL AND logged_at IS NOT NULL`;

/** Free-form JSON is `json`, not `jsonb`, to keep the text as it was sent. */
@ProjectTable('calls', { rows: 'data', counted: null })
@Index('calls_started_idx', ['project_id', 'started_at', 'id'])
@Index('calls_trace_idx', ['project_id', 'trace_id'])
@Index('calls_parent_idx', ['project_id', 'parent_id'], { where: 'parent_id IS NOT NULL' })
@Index('calls_turns_idx', ['project_id', 'thread_id', 'started_at', 'ended_at', 'id'], {
  where: IS_TURN,
})
@Index('calls_turns_started_idx', { synchronize: false })
@Index('calls_op_idx', ['project_id', 'op_name'])
@Index('calls_user_idx', ['project_id', 'user_id'])
@Index('calls_thread_idx', { synchronize: false })
@Index('calls_turn_idx', { synchronize: false })
@Index('calls_failed_idx', ['project_id', 'started_at', 'id'], {
  where: 'exception IS NOT NULL OR has_descendant_error',
})
@Index('calls_running_idx', ['project_id', 'started_at'], { where: 'ended_at IS NULL' })
@Index('calls_root_latency_idx', { synchronize: false })
@Index('calls_roots_idx', { synchronize: false })
@Index('calls_response_idx', ['project_id', 'response_id', 'started_at', 'id'], {
  where: 'response_id IS NOT NULL',
})
@Index('calls_spans_idx', ['project_id', 'started_at', 'id'], { where: 'operation IS NOT NULL' })
@Index('calls_agent_idx', ['project_id', 'agent_name', 'started_at', 'id'], {
  where: 'agent_name IS NOT NULL',
})
@Index('calls_linked_idx', ['project_id', 'linked_call_id'], {
  where: 'linked_call_id IS NOT NULL',
})
@Index('calls_logged_idx', ['project_id', 'logged_at', 'id'], { where: IS_AWAITED })
@Index('calls_startless_idx', ['logged_at', 'project_id', 'id'], { where: 'op_name IS NULL' })
@Index('calls_named_idx', { synchronize: false })
@Index('calls_orphans_idx', ['project_id', 'parent_id'], { where: 'is_orphan' })
@Index('calls_source_idx', ['project_id', 'started_at', 'id'], { where: IS_OTHER })
@Index('calls_unread_usage_idx', ['project_id', 'started_at', 'id'], { where: IS_UNREAD })
export class Call {
  @PrimaryColumn('text', { collation: 'C' }) project_id!: string;
  @PrimaryColumn('text', { collation: 'C' }) id!: string;
}

for (const { name, type, isKey, default: value } of CALL_COLUMN_LIST) {
  if (isKey) continue;
  const collation = type === 'text' ? { collation: 'C' } : {};
  const options = { type, nullable: value === undefined, default: value, ...collation };
  Column(options)(Call.prototype, name);
}
