// SQL: sums over groups of spans.
import { ownUsageRows } from '../../../tracing/usage/own-usage.query.js';
import {
  byCodePoint,
  InvalidQuery,
  type Operand,
  type Sort,
  toNumber,
  wireTime,
} from '../../../platform/query/columns.js';
import { allOf, identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import { LATENCY_MS } from '../../../tracing/visible-calls.js';
import { CONVERSATION, SpanSource, type SpanSelection, type ValueRef } from './span-source.js';

type SpanAggregation =
  'sum' | 'avg' | 'min' | 'max' | 'count' | 'count_distinct' | 'count_true' | 'count_false';

export interface GroupRef extends ValueRef {
  alias?: string | null;
}

export interface Measure {
  alias: string;
  aggregation: SpanAggregation;
  value?: ValueRef | null;
  value_type?: 'datetime' | 'number' | 'boolean' | 'string' | null;
  filter?: object | null;
}

export interface GroupFilter {
  measure: Measure;
  min?: number | string | null;
  max?: number | string | null;
}

const operandText = ({ type, sql: value }: Operand): Sql =>
  type === 'time' ? wireTime(value) : sql`(${value})::text`;

export const keyText = (value: Operand): Sql => sql`left(${operandText(value)}, ${MAX_KEY}::int)`;
/** Characters of a key, and of a name in an answer. */
const MAX_KEY = 256;

/** Returns the value as a number that fits into float8, even in a sum, or NULL. */
export const operandNumber = ({ type, sql: value }: Operand): Sql =>
  type === 'number'
    ? sql`(${value})::float8`
    : type === 'time'
      ? sql`extract(epoch FROM ${value})::float8`
      : sql`(CASE WHEN abs(${toNumber(sql`(${value})::text`)}) < 1e290 THEN ${toNumber(sql`(${value})::text`)} END)::float8`;

const AGGREGATES: Record<SpanAggregation, (value: Sql, text: Sql) => Sql> = {
  sum: (value) => sql`sum(${value})`,
  avg: (value) => sql`avg(${value})`,
  min: (value) => sql`min(${value})`,
  max: (value) => sql`max(${value})`,
  count: (_, text) => sql`count(${text})::float8`,
  count_distinct: (_, text) => sql`count(DISTINCT ${text})::float8`,
  count_true: (_, text) => sql`count(*) FILTER (WHERE ${text} = 'true')::float8`,
  count_false: (_, text) => sql`count(*) FILTER (WHERE ${text} = 'false')::float8`,
};

/** Collects values that are read from each span, and names them in the inner select. */
export class GroupValues {
  readonly selected: Sql[] = [];

  add(value: Sql): Sql {
    const name = identifier(`v${this.selected.length}`);
    this.selected.push(sql`${value} AS ${name}`);
    return name;
  }
}

/** Returns a measure over the values of a group: a number, or a time as text for the minimum or maximum of times. */
export function measureValue(
  { aggregation, value, value_type, filter }: Measure,
  source: SpanSource,
  values: GroupValues,
  path: string,
): Sql {
  const isCounted = filter ? source.filter(filter, `${path}.filter`) : null;
  const within = (read: Sql) => (isCounted ? sql`CASE WHEN ${isCounted} THEN ${read} END` : read);
  if (!value) {
    if (aggregation !== 'count') throw new InvalidQuery(`${path}.value`, 'is required');
    return AGGREGATES.count(sql``, values.add(within(sql`1`)));
  }
  const operand = source.value(value, `${path}.value`);
  const isTime = value_type === 'datetime' || operand.type === 'time';
  if (isTime && (aggregation === 'min' || aggregation === 'max')) {
    if (operand.type !== 'time')
      throw new InvalidQuery(`${path}.value`, 'must name a time, such as started_at');
    return wireTime(AGGREGATES[aggregation](values.add(within(operand.sql)), sql``));
  }
  return aggregation.startsWith('count')
    ? AGGREGATES[aggregation](sql``, values.add(within(operandText(operand))))
    : AGGREGATES[aggregation](values.add(within(operandNumber(operand))), sql``);
}

const isTimeOf = ({ aggregation, value, value_type }: Measure, source: SpanSource, path: string) =>
  (aggregation === 'min' || aggregation === 'max') &&
  (value_type === 'datetime' || (value && source.value(value, `${path}.value`).type === 'time'));

/** Returns the condition that a measure of the group is between two bounds of its type. */
export function groupCondition(
  { min, max, measure }: GroupFilter,
  source: SpanSource,
  values: GroupValues,
  path: string,
): Sql {
  const isTime = isTimeOf(measure, source, `${path}.measure`);
  const value = measureValue(measure, source, values, `${path}.measure`);
  const bound = (name: 'min' | 'max', limit: number | string, symbol: Sql) => {
    if ((typeof limit === 'string') !== Boolean(isTime))
      throw new InvalidQuery(
        `${path}.${name}`,
        `must be a ${isTime ? 'date-time' : 'number'}, as its measure is`,
      );
    return isTime
      ? sql`(${value})::timestamptz ${symbol} ${limit}::timestamptz`
      : sql`(${value})::float8 ${symbol} ${limit}::float8`;
  };
  return allOf(
    min !== null && min !== undefined && bound('min', min, sql`>=`),
    max !== null && max !== undefined && bound('max', max, sql`<=`),
  );
}

const sumOf = (name: string) => sql`coalesce(sum(${identifier(name)}), 0)::float8`;
const distinctNames = (name: string) =>
  sql`coalesce(to_json((array_agg(DISTINCT ${identifier(name)}) FILTER (WHERE ${identifier(name)} <> ''))[1:${MAX_NAMES}::int]), '[]')`;
/** Names of one kind in an answer. */
const MAX_NAMES = 100;

/** Members of each group, computed from its spans `s`. */
const GROUP_COLUMNS: Readonly<Record<string, Sql>> = {
  span_count: sql`count(*)::int`,
  invocation_count: sql`count(*) FILTER (WHERE s.operation = 'invoke_agent')::int`,
  error_count: sql`count(*) FILTER (WHERE s.is_error)::int`,
  conversation_count: sql`count(DISTINCT s.conversation)::int`,
  total_input_tokens: sumOf('input_tokens'),
  total_output_tokens: sumOf('completion_tokens'),
  total_reasoning_tokens: sumOf('reasoning'),
  total_cache_creation_input_tokens: sumOf('cache_creation_input_tokens'),
  total_cache_read_input_tokens: sumOf('cache_read_input_tokens'),
  total_duration_ms: sql`round(coalesce(sum(s.duration_ms), 0)::numeric)::float8`,
  first_seen: wireTime(sql`min(s.started_at)`),
  last_seen: wireTime(sql`max(s.started_at)`),
  agent_names: distinctNames('agent_name'),
  agent_versions: distinctNames('agent_version'),
  provider_names: distinctNames('provider'),
  request_models: distinctNames('model'),
  conversation_names: distinctNames('conversation_name'),
};

export const GROUP_COLUMN_NAMES = Object.keys(GROUP_COLUMNS);
const LISTS = [
  'agent_names',
  'agent_versions',
  'provider_names',
  'request_models',
  'conversation_names',
];

export interface SpanGroupsRequest extends SpanSelection {
  group_by: readonly GroupRef[];
  measures?: readonly Measure[] | null;
  group_filters?: readonly GroupFilter[] | null;
  sort_by?: readonly Sort[] | null;
  limit: number;
  offset: number;
}

export interface GroupRow {
  /** The values of the keys, as texts. */
  keys: (string | null)[];
  measures: (number | string | null)[];
  total_count: number;
  [member: string]: unknown;
}

export const aliasOf = ({ alias, key }: GroupRef) => alias ?? key;

/** Reads groups of spans, by default the largest first. */
export function groupsQuery(asked: SpanGroupsRequest, more: Sql | null): Sql<GroupRow> {
  const source = new SpanSource();
  const values = new GroupValues();
  const keys = asked.group_by.map((ref, i) =>
    values.add(keyText(source.value(ref, `group_by[${i}]`))),
  );
  const measures = (asked.measures ?? []).map((one, i) =>
    measureValue(one, source, values, `measures[${i}]`),
  );
  const having = (asked.group_filters ?? []).map((one, i) =>
    groupCondition(one, source, values, `group_filters[${i}]`),
  );
  const field = (name: string) => keyText(source.field(name, ''));
  const extra = [
    sql`${field('provider_name')} AS provider`,
    sql`${field('request_model')} AS model`,
    sql`${field('conversation_name')} AS conversation_name`,
    sql`${operandNumber(source.field('reasoning_tokens', ''))} AS reasoning`,
  ];
  const where = source.matching(asked, more);
  const order = groupOrder(asked);
  const members = Object.entries(GROUP_COLUMNS).map(
    ([name, value]) => sql`${value} AS ${identifier(name)}`,
  );
  const shownKeys = keys.map((key, i) => sql`${key} AS ${identifier(`k${i}`)}`);
  const shownMeasures = measures.map((value, i) => sql`${value} AS ${identifier(`m${i}`)}`);
  const array = (names: Sql[]) =>
    names.length > 0 ? sql`json_build_array(${join(names)})` : sql`'[]'::json`;
  return sql`
    SELECT ${array(keys.map((_, i) => identifier(`k${i}`)))} AS keys, ${array(measures.map((_, i) => identifier(`m${i}`)))} AS measures,
      ${join(Object.keys(GROUP_COLUMNS).map(identifier))}, count(*) OVER ()::int AS total_count
    FROM (
      SELECT ${join([...shownKeys, ...shownMeasures, ...members])} FROM (
        SELECT c.operation, c.exception IS NOT NULL AS is_error, ${CONVERSATION} AS conversation, c.started_at, c.agent_name, c.agent_version,
          ${LATENCY_MS} AS duration_ms, u.*, ${join([...extra, ...values.selected])}
        FROM ${source.from} CROSS JOIN LATERAL (
          SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens,
            sum(u.cache_read_input_tokens) AS cache_read_input_tokens, sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens
          FROM ${ownUsageRows} u) u
        WHERE ${where}) s
      GROUP BY ${join(keys)} ${having.length > 0 ? sql`HAVING ${allOf(...having)}` : sql``}) g
    ORDER BY ${join([...order, ...keys.map((_, i) => sql`${byCodePoint(identifier(`k${i}`))} NULLS LAST`)])}
    LIMIT ${asked.limit}::bigint OFFSET ${asked.offset}::bigint`;
}

function groupOrder({ group_by, measures, sort_by }: SpanGroupsRequest): Sql[] {
  const sorts = sort_by?.length ? sort_by : [{ field: 'span_count', direction: 'desc' as const }];
  return sorts.map(({ field, direction }, i) => {
    const key = group_by.findIndex((ref) => aliasOf(ref) === field);
    const measure = (measures ?? []).findIndex(({ alias }) => alias === field);
    if (key < 0 && measure < 0 && (!Object.hasOwn(GROUP_COLUMNS, field) || LISTS.includes(field)))
      throw new InvalidQuery(`sort_by[${i}].field`, 'names no key, measure or sum of the groups');
    const name = key >= 0 ? `k${key}` : measure >= 0 ? `m${measure}` : field;
    return sql`${identifier(name)} ${direction === 'desc' ? sql`DESC` : sql`ASC`} NULLS LAST`;
  });
}
