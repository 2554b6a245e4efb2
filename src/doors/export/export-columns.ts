import { wire } from '../../platform/http/wire-names.js';
import { SCORER_JSON, SCORER_TEXTS } from '../../tracing/feedback-names.query.js';
import type { TableMember } from '../../tracing/objects/tables/tables.service.js';
import type { ParquetColumn } from './row-group.js';

/** Version of the columns of calls and feedback. Raise it if a column changes or goes. */
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

export const feedbackColumns = (): ParquetColumn[] =>
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
