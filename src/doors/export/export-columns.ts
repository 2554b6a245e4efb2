import type { Dto } from '../../platform/http/validation.js';
import { wire } from '../../platform/http/wire-names.js';
import { CallsFilterDto } from '../../tracing/calls/calls.dto.js';
import { SCORER_JSON, SCORER_TEXTS } from '../../tracing/feedback-names.query.js';
import { ObjectsFilterDto } from '../../tracing/objects/objects.dto.js';
import type { TableMember } from '../../tracing/objects/tables/tables.service.js';
import { ThreadsFilterDto } from '../../tracing/threads/threads.dto.js';
import type { ParquetColumn } from './row-group.js';

/** Version of the columns of all kinds but tables. Raise it if a column changes or goes. */
export const SCHEMA_VERSION = 1;

type Declared = Record<string, ParquetColumn['type']>;

const allOf = (names: readonly string[], type: ParquetColumn['type']): Declared =>
  Object.fromEntries(names.map((name) => [name, type]));

const declared = (columns: Declared, from: (name: string) => string[] = (name) => [name]) =>
  Object.entries(columns).map(([name, type]): ParquetColumn => ({ name, type, from: from(name) }));

/** Columns of a call: those of its row, values that the service derives, and its documents as they were sent. */
export function callColumns(): ParquetColumn[] {
  const derived = ['summary', wire().summary];
  const costs = [...derived, 'costs'];
  return [
    ...declared({
      id: 'text',
      project_id: 'text',
      trace_id: 'text',
      parent_id: 'text',
      thread_id: 'text',
      turn_id: 'text',
      op_name: 'text',
      display_name: 'text',
      source: 'text',
      operation: 'text',
      started_at: 'time',
      ended_at: 'time',
    }),
    ...declared({ status: 'text', latency_ms: 'number', trace_name: 'text' }, (name) => [
      ...derived,
      name,
    ]),
    { name: 'input_tokens', type: 'integer', from: costs, sumOf: 'prompt_tokens' },
    { name: 'output_tokens', type: 'integer', from: costs, sumOf: 'completion_tokens' },
    { name: 'cost', type: 'number', from: costs, sumOf: 'total_cost' },
    { name: 'costs', type: 'json', from: costs },
    { name: 'scores', type: 'json', from: [...derived, 'feedback'] },
    ...declared({
      exception: 'text',
      [wire().userId]: 'text',
      [wire().runId]: 'text',
      [wire().runStep]: 'integer',
      [wire().runStepEnd]: 'integer',
      attributes: 'json',
      inputs: 'json',
      output: 'json',
      summary: 'json',
    }),
  ];
}

const feedbackColumns = (): ParquetColumn[] =>
  declared({
    id: 'text',
    project_id: 'text',
    created_at: 'time',
    [wire().ref]: 'text',
    feedback_type: 'text',
    payload: 'json',
    creator: 'text',
    annotation_ref: 'text',
    runnable_ref: 'text',
    call_ref: 'text',
    trigger_ref: 'text',
    queue_id: 'text',
    ...allOf(SCORER_JSON, 'json'),
    ...allOf(SCORER_TEXTS, 'text'),
    [wire().userId]: 'text',
  });

const threadColumns = (): ParquetColumn[] =>
  declared({
    thread_id: 'text',
    turn_count: 'integer',
    start_time: 'time',
    last_updated: 'time',
    first_turn_id: 'text',
    last_turn_id: 'text',
    p50_turn_duration_ms: 'number',
    p99_turn_duration_ms: 'number',
  });

const objectColumns = (): ParquetColumn[] =>
  declared({
    project_id: 'text',
    object_id: 'text',
    created_at: 'time',
    digest: 'text',
    version_index: 'integer',
    is_latest: 'integer',
    kind: 'text',
    base_object_class: 'text',
    leaf_object_class: 'text',
    val: 'json',
    [wire().userId]: 'text',
  });

/** Columns of a trajectory of a build: its group, its reward, what it was made of, and its messages. */
const trajectoryColumns = (): ParquetColumn[] => [
  ...declared({
    group_index: 'integer',
    trajectory_index: 'integer',
    group_key: 'text',
    split: 'text',
    reward: 'number',
    metrics: 'json',
  }),
  ...declared(
    {
      unit_id: 'text',
      call_id: 'text',
      trace_id: 'text',
      thread_id: 'text',
      choice: 'integer',
      scored_call_id: 'text',
    },
    (name) => ['metadata', name],
  ),
  ...declared({
    start_time: 'time',
    initial_policy_version: 'integer',
    final_policy_version: 'integer',
    messages_and_choices: 'json',
    tools: 'json',
    additional_histories: 'json',
  }),
];

interface ExportedRows {
  /** Fields of a request that are for these rows. */
  fields: readonly ('filter' | 'query' | 'digest' | 'build_id')[];
  /** The field without which there are no rows. */
  needs?: 'digest' | 'build_id';
  filter?: Dto;
  /** The column that decides in which window of a schedule a row is. */
  window?: string;
  /** Absent for a table, whose rows have columns of their own. */
  columns?: () => ParquetColumn[];
}

/** All that can be exported. */
export const EXPORTED = {
  calls: {
    fields: ['filter', 'query'],
    filter: CallsFilterDto,
    window: 'started_at',
    columns: callColumns,
  },
  feedback: { fields: ['query'], window: 'created_at', columns: feedbackColumns },
  threads: { fields: ['filter'], filter: ThreadsFilterDto, columns: threadColumns },
  objects: { fields: ['filter'], filter: ObjectsFilterDto, columns: objectColumns },
  table: { fields: ['digest'], needs: 'digest' },
  build: { fields: ['build_id'], needs: 'build_id', columns: trajectoryColumns },
} as const satisfies Record<string, ExportedRows>;

export type ExportedKind = keyof typeof EXPORTED;

export const exported = (of: ExportedKind): ExportedRows => EXPORTED[of];

const MEMBER_TYPES = new Map<string, ParquetColumn['type']>([
  ['string', 'text'],
  ['number', 'number'],
  ['boolean', 'boolean'],
]);

/**
 * A member that has one type in all rows becomes a column of this type. Another one, also one with a number that a
 * double does not hold, becomes a column of JSON. Without known members each row is one JSON text.
 */
export const tableColumns = (members: readonly TableMember[]): ParquetColumn[] =>
  members.length === 0
    ? declared({ val: 'json' })
    : members.map(({ name, types }) => ({
        name,
        type: (types.length === 1 && MEMBER_TYPES.get(types[0]!)) || 'json',
        from: ['val', name],
      }));
